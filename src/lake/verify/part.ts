import { createHash } from 'node:crypto';
import type { ByteString } from '../../core/brands.js';
import { crc32, crc32ToHex } from '../crc32.js';
import type { PublishedPart } from '../manifest.js';
import { framingOf } from '../part/framing.js';
import { gunzipper, plainUnpacker } from '../part/gunzip.js';
import { decodeIndex, indexKey, type PartIndex } from '../part/index-file.js';
import { RowSplitter } from '../part/row-splitter.js';
import { checkObject } from '../publish.js';
import type { SortKey } from '../row.js';
import type { ObjectStore } from '../store/index.js';
import { ObjectNotFoundError } from '../store/index.js';
import { BlockCheck, indexProblem } from './block-check.js';
import { Findings } from './findings.js';
import { RowCheck } from './row-check.js';

export interface PartRules {
  /** The header's text with its LF. */
  readonly header: ByteString;
  /** Data columns. */
  readonly columns: number;
  readonly cells: number;
  readonly keyColumns: number;
  readonly delimiter: string;
  readonly compression: 'gzip' | 'none';
  /** Change logs have no block index. */
  readonly index: 'beside' | 'none';
  readonly signal?: AbortSignal | undefined;
}

/** What was found in a part. */
export interface ReadPart {
  readonly bytes: number;
  readonly rows: number;
  readonly first: SortKey | null;
  readonly last: SortKey | null;
  /** Each with the part's key. */
  readonly problems: readonly string[];
}

/**
 * Reads one part from its first byte to its last and holds it against its line of the manifest. Memory: a row, a
 * packed block and a few buffers, whatever the part's size. The rows are read from the object itself, so a wrong
 * index hides nothing.
 */
export async function verifyPart(
  store: ObjectStore,
  part: PublishedPart,
  rules: PartRules,
): Promise<ReadPart> {
  const findings = new Findings();
  const at = part.key;
  const asStored = await checkObject(store, part);
  if (asStored !== null) findings.add('stored', asStored);
  const index = rules.index === 'beside' ? await readIndex(store, part, rules, findings) : null;
  const rows = new RowCheck({ ...rules, at, blocks: index?.blocks ?? null }, findings);
  const blocks = index === null ? null : new BlockCheck(at, index.blocks, framingOf(rules), findings);
  let bytes = 0;
  try {
    bytes = await readObject(store, part, rules, { rows, blocks, findings });
  } catch (error) {
    if (!(error instanceof ObjectNotFoundError)) throw error;
    return { bytes: 0, rows: 0, first: null, last: null, problems: findings.toList() };
  }
  if (rows.rows !== part.rows) {
    findings.add('rows', `${at} has ${rows.rows} rows and not ${part.rows}`);
  }
  if (rows.first !== part.first || rows.last !== part.last) {
    findings.add('range', `${at} does not reach from the first to the last key that the manifest says`);
  }
  return { bytes, rows: rows.rows, first: rows.first, last: rows.last, problems: findings.toList() };
}

interface Checks {
  readonly rows: RowCheck;
  readonly blocks: BlockCheck | null;
  readonly findings: Findings;
}

/** Streams the object through all checks and returns its length in bytes. */
async function readObject(
  store: ObjectStore,
  part: PublishedPart,
  { compression, signal }: PartRules,
  { rows, blocks, findings }: Checks,
): Promise<number> {
  const hash = createHash('sha256');
  const unpacker = compression === 'gzip' ? gunzipper() : plainUnpacker;
  const splitter = new RowSplitter();
  let bytes = 0;
  let rawBytes = 0;
  let crc = 0;
  let readable = true;
  /** A part that cannot be unpacked is still read to its end: its checksum says whether the store lost something. */
  const unpack = async (pieces: AsyncGenerator<Buffer>): Promise<void> => {
    if (!readable) return;
    try {
      for await (const piece of pieces) {
        rawBytes += piece.length;
        for (const row of splitter.push(piece.toString('latin1'))) rows.row(row);
      }
    } catch (error) {
      readable = false;
      const what = error instanceof RangeError ? 'cannot be read as CSV' : 'is no whole gzip file';
      findings.add('unpack', `${part.key} ${what}: ${(error as Error).message}`);
    }
  };
  try {
    for await (const chunk of store.stream(part.key, { signal })) {
      hash.update(chunk);
      crc = crc32(chunk, crc);
      bytes += chunk.length;
      await Promise.all([unpack(unpacker.push(chunk)), blocks?.push(chunk)]);
    }
    await unpack(unpacker.end());
  } finally {
    unpacker.close();
  }
  if (readable) rows.end(splitter.rest());
  const expected: [what: string, found: string | number, promised: string | number][] = [
    ['bytes', bytes, part.bytes],
    ['SHA-256', hash.digest('hex'), part.sha256],
    ['CRC32', crc32ToHex(crc), part.crc32],
    ['bytes before compression', rawBytes, part.rawBytes],
  ];
  for (const [what, found, promised] of expected) {
    if (found !== promised)
      findings.add(what, `${part.key}: ${what} ${found} and not ${promised}, as the manifest says`);
  }
  return bytes;
}

async function readIndex(
  store: ObjectStore,
  part: PublishedPart,
  { columns }: PartRules,
  findings: Findings,
): Promise<PartIndex | null> {
  const key = indexKey(part.key);
  const found = await store.readIfExists(key);
  if (found === null) {
    findings.add('no index', `${key} is not there`);
    return null;
  }
  try {
    const index = decodeIndex(found.body);
    const problem = indexProblem(index, { bytes: part.bytes, rows: part.rows, columns });
    if (problem === null) return index;
    findings.add('bad index', `${key} does not agree with its part: ${problem}`);
  } catch (error) {
    findings.add('bad index', `${key} is no block index: ${(error as Error).message}`);
  }
  return null;
}
