import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { type InjectedSinks, Worker, type WorkflowBundleOption } from '@temporalio/worker';
import type { Sinks } from '@temporalio/workflow';
import { beforeAll, describe, expect, it } from 'vitest';
import { bundleWorkflows, fileOf, shippedBundle } from '../../src/temporal/worker/bundle.js';
import * as workflows from '../../workflows/index.js';
import '../support/runtime.js';
import { longOnly } from '../support/seeds.js';

const FOLDER = join(import.meta.dirname, 'histories');

describe('recorded histories', () => {
  let files: string[];
  beforeAll(async () => {
    files = (await readdir(FOLDER)).filter((name) => name.endsWith('.json')).sort();
  });

  it('exist for every workflow', () => {
    const names = Object.keys(workflows).filter((name) => name.endsWith('Workflow'));
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) {
      expect(
        files.filter((file) => file.startsWith(`${name}.`)),
        name,
      ).not.toEqual([]);
    }
  });

  it('all replay with the current workflows', async () => {
    await replayAll(files, shippedBundle());
  });

  // `temporal/traces.test.ts` runs workers with interceptors; the test above replays the same histories.
  longOnly('replay in a worker with traces', async () => {
    const interceptorModules = [fileOf('dist/workflows/traces.js')];
    const exporter = { export: { fn: () => {} } };
    await replayAll(files, await bundleWorkflows('index', { interceptorModules }), { exporter });
  });
});

async function replayAll(
  files: readonly string[],
  workflowBundle: WorkflowBundleOption,
  sinks: InjectedSinks<Sinks> = {},
): Promise<void> {
  const replayed: string[] = [];
  const problems: string[] = [];
  for await (const { workflowId, error } of Worker.runReplayHistories(
    { workflowBundle, sinks },
    histories(files),
  )) {
    replayed.push(workflowId);
    if (error) problems.push(`${workflowId}: ${error.message}`);
  }
  expect(problems).toEqual([]);
  expect(replayed.length).toBe(files.length);
}

async function* histories(files: readonly string[]) {
  for (const file of files) {
    const history = historyFromJSON(JSON.parse(await readFile(join(FOLDER, file), 'utf8')));
    yield { workflowId: file, history };
  }
}
