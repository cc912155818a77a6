import { afterEach, describe, expect } from 'vitest';
import { startWorkerProcess } from '../../support/processes.js';
import { longOnly } from '../../support/seeds.js';
import { type Stack, startStack } from '../../support/stack.js';

/** Each row fills one chunk. More chunks are read together than Node allows listeners before it warns of a leak. */
const ROWS = 16;
const ROW_BYTES = 4.2 * 1024 * 1024;

describe('a merge of many chunks', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  // `mirror/longer-runs.test.ts` merges as many chunks; a warning in the log harms no run.
  longOnly('leaves no MaxListenersExceededWarning in what the worker logs', async () => {
    stack = await startStack({
      simulator: { awkward: false, counts: { tasks: 0 } },
      resources: '[tasks]',
      yaml: '    sync: { pageSize: 1 }\n',
    });
    for (let row = 0; row < ROWS; row++)
      stack.simulator.admin.create('tasks', { description: 'x'.repeat(ROW_BYTES) });
    const worker = await startWorkerProcess(stack);
    expect(await stack.export()).toMatchObject({ outcome: 'published', runs: [{ rows: ROWS }] });
    await worker.signal('SIGTERM');
    expect((await worker.output()).stderr).not.toContain('MaxListenersExceededWarning');
  });
});
