import { expect } from 'vitest';
import { assertRowEquals } from './oracle.js';
import { readSnapshot } from './snapshot.js';
import type { Stack } from './stack.js';

export function idOf(record: string): string {
  return (JSON.parse(record) as { id: string }).id;
}

/** Ids of what the service lists now, ascending. */
export function listedIds(stack: Stack, resource: string): string[] {
  return stack.simulator.admin.records(resource, 'listed').map(idOf);
}

/** Checks that the published snapshot has the same records as the service, value for value. */
export async function expectMirrored(stack: Stack, resource: string): Promise<void> {
  const records = new Map(stack.simulator.admin.records(resource).map((text) => [idOf(text), text]));
  const { rows } = await readSnapshot(stack.store, resource);
  expect(rows.map((row) => row.id).sort()).toEqual([...records.keys()]);
  for (const row of rows) assertRowEquals(row, records.get(row.id!)!);
}
