import { afterAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../../support/stack.js';

describe('an export of 2,000 pages', () => {
  let stack: Stack;
  afterAll(() => stack?.stop());

  it('keeps every history below 2,000 events, and no record in any of them', async () => {
    stack = await startStack({
      simulator: { seed: 11, awkward: false, counts: { tasks: 4000, projects: 1 } },
      resources: '[tasks, projects]',
      yaml: '    sync: { pageSize: 2 }\n',
    });
    await stack.startWorker();
    const result = await stack.export();
    expect(result.runs[0]!.counts).toMatchObject({ fetched: 4000, rows: 4000 });
    // Each page once, and up to 8 again to see whether the list shifted.
    const requests = stack.simulator.admin.stats().byRoute['GET tasks']!;
    expect(requests).toBeGreaterThanOrEqual(2000);
    expect(requests).toBeLessThanOrEqual(2008);
    const ids = new Set(
      stack.simulator.admin.records('tasks').map((text) => (JSON.parse(text) as { id: string }).id),
    );
    const names = stack.simulator.admin
      .records('tasks')
      .map((text) => (JSON.parse(text) as { name: string }).name);
    expect(ids.size).toBe(4000);
    const seen = new Set<string>();
    for await (const { type, workflowId, runId } of stack.workflows()) {
      if (type === 'workerConfigurationWorkflow') continue;
      seen.add(workflowId);
      const { events } = await stack.temporal.client.workflow.getHandle(workflowId, runId).fetchHistory();
      expect(events!.length).toBeLessThan(2000);
      const text = payloadsOf(events!);
      expect(text).toContain(stack.connection);
      for (const id of ids) if (text.includes(id)) throw new Error(`${workflowId} holds the record ${id}`);
      for (const name of names)
        if (name && text.includes(name)) throw new Error(`${workflowId} holds "${name}"`);
    }
    expect(seen.size).toBe(3);
  });
});

/** All payloads of a history as text. */
function payloadsOf(events: readonly object[]): string {
  const out: string[] = [];
  const visit = (value: unknown): void => {
    if (value instanceof Uint8Array) out.push(Buffer.from(value).toString('latin1'));
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(visit);
  };
  events.forEach(visit);
  return out.join('\n');
}
