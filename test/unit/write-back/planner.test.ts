import { describe, expect, it } from 'vitest';
import type { WritableResource } from '../../../src/core/contract/write-back.js';
import { HashTable } from '../../../src/write-back/hash-table.js';
import { idempotencyKey, textHash, uuidV5 } from '../../../src/write-back/idempotency-key.js';
import { BatchPlanner, type PlannedRow } from '../../../src/write-back/planner.js';
import { rowsOf } from './support.js';

async function plan(
  csv: string,
  options: { resource?: WritableResource; keyColumn?: string; batchId?: string; lastWins?: boolean } = {},
): Promise<PlannedRow[]> {
  const { resource = 'time-entries', keyColumn = null, batchId = 'b', lastWins } = options;
  const planner = new BatchPlanner({ connection: 'acme', resource, batchId, keyColumn, lastWins });
  const rows = await rowsOf(csv);
  for (const row of rows) planner.survey(row);
  return rows.map((row) => planner.plan(row));
}

describe('the key of a row', () => {
  it('is a UUIDv5 of connection, batch and row key, which never changes', async () => {
    expect(uuidV5('')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    // A literal: if it changed, every row of every batch would be written again.
    expect(idempotencyKey('acme', 'november', 'r1')).toBe('96783f47-7ad5-5dcf-b982-e32f83bbbf26');
    const [row] = await plan('ref,a\nr1,1\n', { keyColumn: 'ref', batchId: 'november' });
    expect(row).toMatchObject({ key: 'r1', idempotencyKey: idempotencyKey('acme', 'november', 'r1') });
    const others = [
      ['other', 'november', 'r1'],
      ['acme', 'december', 'r1'],
      ['acme', 'november', 'r2'],
    ] as const;
    for (const [connection, batch, key] of others)
      expect(idempotencyKey(connection, batch, key)).not.toBe(row!.idempotencyKey);
  });

  it('does not depend on rows above, the order of columns, or empty columns', async () => {
    const keys = async (csv: string) => (await plan(csv)).map(({ key }) => key);
    const [a, b] = await keys('x,y\n1,2\n3,4\n');
    expect(await keys('x,y\n9,9\n1,2\n3,4\n')).toEqual([expect.any(String), a, b]);
    expect(await keys('y,x,z\n2,1,\n4,3,\n')).toEqual([a, b]);
    expect(await keys('x,y\n1,""\n')).not.toEqual(await keys('x,y\n1,\n'));
  });

  it('distinguishes equal rows by their occurrence', async () => {
    const rows = await plan('x\n1\n2\n1\n1\n');
    const [first] = rows;
    const base = first!.key.slice(0, -1);
    expect(rows.map(({ key }) => key)).toEqual([`${base}1`, rows[1]!.key, `${base}2`, `${base}3`]);
    expect(new Set(rows.map((row) => row.idempotencyKey)).size).toBe(4);
  });
});

describe('a plan', () => {
  it('does not send rows with a repeated key: the same row is skipped, a different one is rejected', async () => {
    const rows = await plan('ref,x\na,1\nb,1\na,1\nb,2\n', { keyColumn: 'ref' });
    expect(rows.map(({ verdict }) => verdict?.outcome ?? null)).toEqual([null, null, 'skipped', 'rejected']);
    expect(rows[3]!.verdict!.message).toContain('row 2 has the same key');
    await expect(plan('ref,x\na,1\n,2\n', { keyColumn: 'ref' })).rejects.toThrow(
      'line 3: the row has no value in the key column',
    );
  });

  it('sends the last row of a pair, unless that row is not sent for another reason', async () => {
    const csv = 'source,sourceKey,t\nc,1,a\nc,2,a\nc,1,b\nc,1,a\nc,1,c\n';
    await expect(plan(csv, { resource: 'calendar-entries' })).rejects.toThrow(
      'the rows on lines 2 and 4 have the same source and sourceKey, and other content',
    );
    const plain = await plan(csv, { resource: 'calendar-entries', lastWins: true });
    expect(plain.map(({ verdict }) => verdict?.outcome ?? null)).toEqual([
      'superseded',
      null,
      'superseded',
      'superseded',
      null,
    ]);
    expect(plain[0]!.verdict!.message).toBe('row 5 has the same source and sourceKey');
    const keyed = await plan(csv, { resource: 'calendar-entries', keyColumn: 't', lastWins: true });
    expect(keyed.map(({ verdict }) => verdict?.outcome ?? null)).toEqual([
      'superseded',
      'rejected',
      'superseded',
      'skipped',
      null,
    ]);
    await expect(plan('source,sourceKey\nc,""\n', { resource: 'calendar-entries' })).rejects.toThrow(
      'line 2: the row has no sourceKey',
    );
  });

  it('omits the pair from the body', async () => {
    const [row] = await plan('source,t,sourceKey\nc,x,1\n', { resource: 'calendar-entries' });
    expect(row).toMatchObject({ pair: ['c', '1'], body: '{"t":"x"}' });
  });
});

describe('a hash table', () => {
  it('has every entry after growing, and no other', () => {
    const table = new HashTable(2, 4);
    for (let n = 0; n < 5000; n++) {
      const entry = table.entry(textHash(`k${n}`));
      table.set(entry, 0, n);
      table.set(entry, 1, 2 ** 32 - 1 - n);
    }
    expect(table.size).toBe(5000);
    for (let n = 0; n < 5000; n++) {
      const entry = table.find(textHash(`k${n}`));
      expect([table.get(entry, 0), table.get(entry, 1)]).toEqual([n, 2 ** 32 - 1 - n]);
    }
    expect(table.find(textHash('k5000'))).toBe(-1);
  });
});
