import { afterEach, describe, expect, it } from 'vitest';
import type { ExportResult } from '../../../src/core/contract/index.js';
import { mirrorWorkflowId } from '../../../src/core/contract/index.js';
import { historiesOf } from '../../support/histories.js';
import { expectMirrored } from '../../support/mirrored.js';
import { readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

const COLUMNS = 60;
/** Field names as long as the body of a small service allows, in characters that JSON escapes and in those of four bytes. */
const longName = (at: number): string =>
  `${at}-${['x', '"', 'é', '😀'][at % 4]!.repeat(at % 4 === 3 ? 10_000 : 20_000)}`;
const MESSAGE = 'The service says something very long. '.repeat(60_000);

let stack: Stack;
afterEach(() => stack?.stop());

/** The largest event of all histories of a workflow, in bytes of JSON, about. */
async function largestEvent(workflowId: string): Promise<number> {
  const histories = await historiesOf(stack.temporal.client, workflowId);
  const events = histories.flatMap(({ events = [] }) => events ?? []);
  return Math.max(...events.map((event) => JSON.stringify(event).length));
}

describe('a service with names of 20,000 characters and messages of megabytes', () => {
  it('is mirrored, and no event of a history is large', async () => {
    stack = await startStack({
      simulator: { counts: { tasks: 30 }, awkward: false },
      resources: '[tasks]',
      yaml: '    sync: { pageSize: 10 }\n    retries: { giveUpAfter: 60s }\n',
    });
    const { admin } = stack.simulator;
    await stack.startWorker();
    const run = (result: ExportResult) => result.runs[0]!;
    expect(run(await stack.export())).toMatchObject({ outcome: 'published' });

    const [id] = admin.records('tasks').map((text) => JSON.parse(text).id as string);
    const fields = Array.from({ length: COLUMNS }, (_, at) => [longName(at), at]);
    admin.update('tasks', id!, Object.fromEntries(fields));
    const wide = run(await stack.export());
    expect(wide).toMatchObject({ outcome: 'published', counts: { updated: 1 } });
    expect(wide.warnings[0]).toMatch(
      /^schema change: new column "0-x+… \(cut: 20002 characters\)" \(integer\)$/,
    );
    expect(wide.warnings.at(-1)).toMatch(/^schema change: \d+ more, in the manifest$/);
    await expectMirrored(stack, 'tasks');
    const { warnings } = await readSnapshot(stack.store, 'tasks');
    expect(warnings).toHaveLength(COLUMNS);

    const rule = admin.faults.add({
      match: { resource: 'tasks' },
      fault: { kind: 'status', status: 400, body: JSON.stringify({ message: MESSAGE }) },
    });
    const failed = run(await stack.export());
    expect(failed).toMatchObject({ outcome: 'failed' });
    expect(failed.error!.message.length).toBeLessThan(2000);
    admin.faults.remove(rule);
    expect(run(await stack.export())).toMatchObject({ outcome: 'published' });
    expect(await largestEvent(mirrorWorkflowId(stack.connection, 'tasks'))).toBeLessThan(100_000);
  });
});
