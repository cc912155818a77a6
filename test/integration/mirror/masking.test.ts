import { createHash, createHmac } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import type { Settings } from '../../../src/core/settings.js';
import { historyText } from '../../support/history-text.js';
import { runCommand } from '../../support/processes.js';
import { readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

const SECRET = 'masking-marker-7c1e55d09a';
const hmac = (value: string, secret = SECRET): string =>
  createHmac('sha256', secret).update(value).digest('hex');
const sha256 = (value: string): string => createHash('sha256').update(value).digest('hex');
const PLAIN = '[{ name: tasks, columns: { mask: { email: hash } } }]';

describe('masking by hash', () => {
  let stack: Stack;
  afterEach(async () => {
    delete process.env.WORKTRACK_TEST_MASK;
    await stack?.stop();
  });

  async function start(): Promise<Settings> {
    stack = await startStack({ simulator: { awkward: false, counts: { tasks: 30 } }, resources: PLAIN });
    stack.simulator.admin.addField('tasks', 'email', '"ann@example.com"', { count: 30, pick: 'newest' });
    const yaml = await readFile(stack.configFile, 'utf8');
    return parseSettings(`${yaml}    masking: { secret: { env: WORKTRACK_TEST_MASK } }\n`, stack.configFile);
  }

  const emails = async (): Promise<Set<string>> =>
    new Set((await readSnapshot(stack.store, 'tasks')).rows.map((row) => String(row.email)));

  it('is keyed by the secret, which rewrites every row once and is in no object and no history', async () => {
    const keyed = await start();
    const first = await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
    expect(await emails()).toEqual(new Set([sha256('ann@example.com')]));
    await first.stop();

    process.env.WORKTRACK_TEST_MASK = SECRET;
    const second = await stack.startWorker(keyed);
    const changed = await stack.export();
    expect(changed.runs[0]).toMatchObject({
      outcome: 'published',
      counts: { unchanged: 30, updated: 0, restated: 30 },
    });
    expect(changed.runs[0]!.warnings.join()).toContain(
      'the masking secret differs from the one of the base snapshot',
    );
    expect(await emails()).toEqual(new Set([hmac('ann@example.com')]));
    // Once: an increment that finds nothing rewrites nothing.
    const again = await stack.export();
    expect(again.runs[0]).toMatchObject({
      outcome: 'published',
      counts: { updated: 0, restated: 0 },
      warnings: [],
    });
    await second.stop();

    const files = await readdir(stack.lakeFolder, { recursive: true, withFileTypes: true });
    for (const file of files.filter((one) => one.isFile())) {
      const bytes = await readFile(join(file.parentPath, file.name));
      const text = file.name.endsWith('.gz') ? gunzipSync(bytes).toString() : bytes.toString();
      expect(text).not.toContain(SECRET);
    }
    for await (const { workflowId } of stack.workflows()) {
      expect(historyText(await stack.history(workflowId))).not.toContain(SECRET);
    }
  });

  it('stops the run with a configuration error if the worker lacks the secret, and publishes nothing', async () => {
    const keyed = await start();
    await stack.startWorker(keyed);
    const result = await stack.export();
    expect(result.runs[0]).toMatchObject({ outcome: 'failed', error: { type: 'Configuration' } });
    expect(result.runs[0]!.error!.message).toMatch(
      /masking secret .*masking\.secret.*WORKTRACK_TEST_MASK is not set\. Set WORKTRACK_TEST_MASK/,
    );
    expect(await stack.store.readIfExists('tasks/latest.json' as never)).toBeNull();
  });

  it('masking by hash without a secret causes a warning of doctor and config check that says what to change', async () => {
    await start();
    const doctor = await runCommand(stack, ['doctor', '--config', stack.configFile, '--json'], {
      WORKTRACK_REACH_TIMEOUT: '5s',
    });
    const { checks } = JSON.parse(doctor.stdout) as {
      checks: { check: string; state: string; remedy: string }[];
    };
    expect(checks.find(({ check }) => check === 'masking')).toMatchObject({
      state: 'warning',
      message: expect.stringContaining('tasks: `mask: hash` is plain SHA-256'),
      remedy: expect.stringContaining(`connections.${stack.connection}.masking.secret`),
    });
    const check = await runCommand(stack, ['config', 'check', '--config', stack.configFile]);
    expect(check.code).toBe(0);
    expect(check.stderr).toMatch(/warning: tasks: `mask: hash` is plain SHA-256.*masking\.secret/);
  });
});
