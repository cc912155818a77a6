import { expect } from 'vitest';
import type { ObjectKey } from '../../src/core/brands.js';
import { type DeltaTable, readDelta } from './delta-rs.js';
import { expectedCells, isSameCell } from './oracle.js';
import { type ReadTree, readPointer, readTree } from './snapshot.js';
import type { Stack } from './stack.js';

/** A lake in a folder, and the programs that read it. */
type Lake = Pick<Stack, 'store' | 'lakeFolder'> & { readonly servers: Pick<Stack['servers'], 'deltaRs'> };

/** The table of a resource, as delta-rs reads it. */
export function readTableOf(stack: Lake, resource: string, version?: number): Promise<DeltaTable> {
  return readDelta(stack.servers.deltaRs, `${stack.lakeFolder}/${resource}/table`, version);
}

/**
 * Compares every cell of a table with a snapshot, as delta-rs reads it and, if `rowsOf` is given, as another engine does.
 * Returns the number of cells of one engine.
 */
export async function expectTable(
  stack: Lake,
  resource: string,
  of: {
    readonly version?: number;
    readonly snapshot?: ObjectKey;
    readonly rowsOf?: () => Promise<DeltaTable['rows']>;
    /** The JSON texts of the records, if the table must also have the service's own values. */
    readonly records?: readonly string[];
  } = {},
): Promise<{ readonly table: DeltaTable; readonly cells: number }> {
  const snapshot = of.snapshot ?? (await readPointer(stack.store, resource)).snapshot;
  const tree = await readTree(stack.store, snapshot);
  const table = await readTableOf(stack, resource, of.version);
  const cells = compare(tree, table);
  if (of.records !== undefined) compareRecords(of.records, table);
  if (of.rowsOf !== undefined) compare(tree, { ...table, rows: await of.rowsOf() });
  return { table, cells };
}

function compare(tree: ReadTree, table: DeltaTable): number {
  const names = tree.header.map((name) => table.names[name]!);
  const extra = Object.keys(table.types).filter((name) => !names.includes(name));
  const ofSnapshot = tree.rows.map((row) =>
    tree.header.map((name, at) => normal(row[name] ?? null, table.types[names[at]!]!)),
  );
  const ofTable = table.rows.map((row) => names.map((name) => normal(row[name] ?? null, table.types[name]!)));
  const inOrder = (rows: (string | null)[][]) => rows.map((row) => JSON.stringify(row)).sort();
  expect(inOrder(ofTable)).toEqual(inOrder(ofSnapshot));
  // Columns that the snapshot of a rolled-back run does not have.
  for (const row of table.rows) for (const name of extra) expect(row[name] ?? null).toBeNull();
  return ofSnapshot.length * names.length;
}

function compareRecords(records: readonly string[], { names, types, rows }: DeltaTable): void {
  const byId = new Map(rows.map((row) => [row[names.id!], row]));
  expect(byId.size).toBe(records.length);
  for (const record of records) {
    const cells = expectedCells(record);
    const row = byId.get(cells.get('id')!)!;
    for (const [name, cell] of cells) {
      const type = types[names[name]!]!;
      const found = normal(row[names[name]!] ?? null, type);
      expect(isSameCell(found, normal(cell, type)), `${name}: ${found} instead of ${cell}`).toBe(true);
    }
  }
}

/** One text for equal values of a type. It is independent of the code that writes the table. */
function normal(value: string | null, type: string): string | null {
  if (value === null) return null;
  if (type === 'timestamp') {
    const micros = (/\.(\d+)/.exec(value)?.[1] ?? '').padEnd(6, '0');
    return `${Date.parse(value.replace(/\.\d+/, ''))} ${micros}`;
  }
  if (type === 'long' || type.startsWith('decimal')) return plainNumber(value);
  return value;
}

function plainNumber(literal: string): string {
  const [mantissa, exponent = '0'] = literal.toLowerCase().split('e');
  const [whole, fraction = ''] = mantissa!.replace('-', '').split('.');
  const digits = whole! + fraction;
  const point = whole!.length + Number(exponent);
  const padded = digits.padEnd(Math.max(point, 0), '0').padStart(digits.length + Math.max(-point, 0), '0');
  const at = Math.max(point, 0);
  const number = `${padded.slice(0, at).replace(/^0+/, '') || '0'}.${padded.slice(at)}`.replace(/\.?0*$/, '');
  return literal.startsWith('-') && number !== '0' ? `-${number}` : number;
}
