import { writeRows } from '../csv.js';
import { headerCells } from '../schema.js';
import type { ObjectStore } from '../store/index.js';
import type { CheckedManifest } from './documents.js';
import { type PartRules, type ReadPart, verifyPart } from './part.js';

export interface TreeOptions {
  readonly index: PartRules['index'];
  readonly signal?: AbortSignal | undefined;
  readonly partsAtOnce: number;
  /** Called with a part's size in bytes when it has been read. */
  readonly onPart?: ((bytes: number) => void) | undefined;
}

export interface ReadTree {
  readonly rows: number;
  readonly bytes: number;
  readonly problems: readonly string[];
}

/** Reads all parts of a manifest; keys must ascend from each part to the next, which makes them unique. */
export async function verifyTree(
  store: ObjectStore,
  { columns, csv, key, parts }: CheckedManifest,
  { index, signal, partsAtOnce, onPart }: TreeOptions,
): Promise<ReadTree> {
  const cells = headerCells(columns);
  const rules: PartRules = {
    header: writeRows([cells], csv.delimiter),
    columns: columns.length,
    cells: cells.length,
    keyColumns: key.length,
    delimiter: csv.delimiter,
    compression: csv.compression,
    index,
    signal,
  };
  const read: ReadPart[] = new Array(parts.length);
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let at = next++; at < parts.length; at = next++) {
      signal?.throwIfAborted();
      read[at] = await verifyPart(store, parts[at]!, rules);
      onPart?.(read[at]!.bytes);
    }
  };
  await Promise.all(Array.from({ length: Math.min(partsAtOnce, parts.length) }, lane));

  const problems: string[] = [];
  let last: ReadPart['last'] = null;
  for (const [at, part] of read.entries()) {
    problems.push(...part.problems);
    if (last !== null && part.first !== null && part.first <= last) {
      problems.push(`${parts[at]!.key} begins with a key that is not above the last one of the part before`);
    }
    last = part.last ?? last;
  }
  return {
    rows: read.reduce((sum, part) => sum + part.rows, 0),
    bytes: read.reduce((sum, part) => sum + part.bytes, 0),
    problems,
  };
}
