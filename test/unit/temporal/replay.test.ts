import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { parseHistory, replayHistories } from '../../../src/temporal/replay.js';

const ROOT = resolve(import.meta.dirname, '../../..');

function recorded(name: string) {
  const text = readFileSync(join(ROOT, 'test/replay/histories', `${name}.json`), 'utf8');
  return parseHistory(name, text);
}

it('bundles the workflows of an application once for all histories, with what its plugins add', async () => {
  let bundled = 0;
  let configured = 0;
  const replayed = replayHistories(
    [
      recorded('exportWorkflow.published'),
      recorded('exportWorkflow.full'),
      recorded('backfillWorkflow.of-no-resource'),
    ],
    {
      workflowsPath: join(ROOT, 'test/support/upgrade/0.2.0.mjs'),
      bundlerOptions: {
        webpackConfigHook(config) {
          bundled++;
          return config;
        },
      },
      plugins: [
        {
          name: 'application',
          configureReplayWorker(options) {
            configured++;
            return { ...options, workflowsPath: join(ROOT, 'workflows/index.ts') };
          },
        },
      ],
    },
  );
  const outcomes: string[] = [];
  for await (const { name, outcome, error } of replayed) outcomes.push(`${name}: ${error ?? outcome}`);
  expect(outcomes).toEqual([
    'exportWorkflow.published: replayed',
    'exportWorkflow.full: replayed',
    'backfillWorkflow.of-no-resource: replayed',
  ]);
  expect([bundled, configured]).toEqual([1, 1]);
});
