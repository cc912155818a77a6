import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ObjectKey } from '../../core/brands.js';
import { errorMessage } from '../../core/errors.js';
import { knownFigures, type Measure } from '../checks/check-plan.js';
import { RowMeter } from '../checks/row-meter.js';
import { type Block, decodeIndex, indexKey, type PartIndex } from '../documents/block-index.js';
import type { PublishedPart } from '../documents/manifest.js';
import { type Framing, framingOf } from '../part/framing.js';
import { gunzipper, plainUnpacker } from '../part/part-rows.js';
import { RowSplitter } from '../rows/csv.js';
import type { SortKey } from '../rows/row.js';
import { crc32, crc32ToHex } from '../store/crc32.js';
import { checkObject } from '../store/digest.js';
import { isUnread, type ObjectStore, StoreError } from '../store/index.js';
import { DocumentTooLargeError } from '../too-large-error.js';
import { ObjectProblems, type Problem, UNREAD } from './problem-list.js';
import { isOutage, readEvenIfDamaged } from './read-body.js';
import { RowCheck, type RowLayout } from './row-check.js';

export interface PartRules {
  /** The manifest that lists the part. */
  readonly manifest: RowLayout;
  /** Change logs have no block index. */
  readonly index: 'beside' | 'none';
  readonly signal?: AbortSignal | undefined;
  /** What the checks of the resource measure. */
  readonly measures: readonly Measure[];
}

export interface ReadPart {
  readonly bytes: number;
  readonly rows: number;
  readonly first: SortKey | null;
  readonly last: SortKey | null;
  /** SHA-256 of the bytes that were read. */
  readonly sha256: string;
  readonly problems: readonly Problem[];
}

/** Kinds of problems that the block index causes if the part matches its manifest. */
const OF_INDEX: ReadonlySet<string> = new Set(['index', 'block', 'no index', 'bad index']);

/**
 * Reads one part completely and checks it against its manifest. Memory is bounded by one row, one compressed block and a
 * few buffers. The rows are read without the block index, so a wrong index cannot hide a problem.
 */
export async function verifyPart(
  store: ObjectStore,
  part: PublishedPart,
  { manifest, index: place, signal, measures }: PartRules,
): Promise<ReadPart> {
  const { columns, csv } = manifest;
  const findings = new ObjectProblems();
  const at = part.key;
  const asStored = await checkObject(store, part);
  if (asStored !== null) findings.add('stored', asStored);
  const index = place === 'beside' ? await readIndex(store, part, columns.length, findings) : null;
  const rows = new RowCheck(at, manifest, index?.blocks ?? null, findings);
  const blocks = index === null ? null : blockCheck(at, index.blocks, framingOf(csv), findings);
  const known = knownFigures(measures, part.checks);
  const form = { names: columns.map(({ name }) => name), csv };
  const meter = known === null ? null : new RowMeter(measures, [], form);
  const checks = { rows, blocks, findings, meter };
  const { bytes, sha256 } = await readObject(store, part, csv.compression, signal, checks);
  const keyOf = (kind: string): ObjectKey =>
    OF_INDEX.has(kind) && (sha256 === part.sha256 || kind === 'no index') ? indexKey(at) : at;
  if (bytes === 0) {
    return { bytes, sha256, rows: 0, first: null, last: null, problems: findings.toList(keyOf) };
  }
  if (rows.rows !== part.rows) {
    findings.add('rows', `${at} has ${rows.rows} rows instead of ${part.rows}`);
  }
  if (rows.first !== part.first || rows.last !== part.last) {
    findings.add('range', `${at}: its first and last keys do not match the manifest`);
  }
  if (meter !== null && !isDeepStrictEqual(meter.figures(null), known))
    findings.add('checks', `${at}: the counts of its checks in the manifest are not those of its rows`);
  const { rows: counted, first, last } = rows;
  return { bytes, sha256, rows: counted, first, last, problems: findings.toList(keyOf) };
}

interface Checks {
  readonly rows: RowCheck;
  readonly blocks: ReturnType<typeof blockCheck> | null;
  readonly findings: ObjectProblems;
  /** `null`: nothing is known that it could be compared with. */
  readonly meter: RowMeter | null;
}

/** Streams the object through all checks. If the store cannot return it or reports damage, the result has 0 bytes. */
async function readObject(
  store: ObjectStore,
  part: PublishedPart,
  compression: 'gzip' | 'none',
  signal: AbortSignal | undefined,
  { rows, blocks, findings, meter }: Checks,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const hash = createHash('sha256');
  const unpacker = compression === 'gzip' ? gunzipper() : plainUnpacker;
  const splitter = new RowSplitter();
  let bytes = 0;
  let rawBytes = 0;
  let crc = 0;
  let readable = true;
  /** A part that cannot be decompressed is still read to its end, because its checksum shows whether the store damaged it. */
  const unpack = async (pieces: AsyncGenerator<Buffer>): Promise<void> => {
    if (!readable) return;
    try {
      for await (const piece of pieces) {
        rawBytes += piece.length;
        for (const row of splitter.push(piece.toString('latin1'))) {
          // The first one is the header.
          if (rows.sawHeader) meter?.add(row);
          rows.row(row);
        }
      }
    } catch (error) {
      readable = false;
      const what = error instanceof RangeError ? 'cannot be read as CSV' : 'is not a complete gzip file';
      findings.add('unpack', `${part.key} ${what}: ${errorMessage(error)}`);
    }
  };
  try {
    for await (const chunk of store.stream(part.key, { signal })) {
      hash.update(chunk);
      crc = crc32(chunk, crc);
      bytes += chunk.length;
      await Promise.all([unpack(unpacker.push(chunk)), blocks?.(chunk)]);
    }
    await unpack(unpacker.end());
  } catch (error) {
    if (!(error instanceof StoreError) || isOutage(error)) throw error;
    if (error.kind !== 'not-found') findings.add(isUnread(error) ? UNREAD : 'unreadable', error.message);
    return { bytes: 0, sha256: '' };
  } finally {
    unpacker.close();
  }
  if (readable) rows.end(splitter.rest());
  const sha256 = hash.digest('hex');
  const expected: [what: string, found: string | number, listed: string | number][] = [
    ['bytes', bytes, part.bytes],
    ['SHA-256', sha256, part.sha256],
    ['CRC32', crc32ToHex(crc), part.crc32],
    ['bytes before compression', rawBytes, part.rawBytes],
  ];
  for (const [what, found, listed] of expected) {
    if (found !== listed)
      findings.add(what, `${part.key}: ${what} ${found}, but the manifest says ${listed}`);
  }
  return { bytes, sha256 };
}

async function readIndex(
  store: ObjectStore,
  part: PublishedPart,
  columns: number,
  findings: ObjectProblems,
): Promise<PartIndex | null> {
  const key = indexKey(part.key);
  const found = await readEvenIfDamaged(store, key);
  if (found === null) {
    findings.add('no index', `${key} is missing`);
    return null;
  }
  if (found.damaged !== null) findings.add(found.isUnread ? UNREAD : 'bad index', found.damaged);
  else if (crc32ToHex(crc32(found.body)) !== part.indexCrc32)
    findings.add('bad index', `${key}: its CRC32 does not match the manifest`);
  try {
    const index = decodeIndex(found.body, part.key);
    const problem = indexProblem(index, part, columns);
    if (problem === null) return index;
    findings.add('bad index', `${key} does not match its part: ${problem}`);
  } catch (error) {
    // A block that is too large is of the part.
    if (error instanceof DocumentTooLargeError) findings.add('too large', error.message);
    else findings.add('bad index', `${key} is not a block index: ${errorMessage(error)}`);
  }
  return null;
}

/** The problem of a block index; `null` for none. Its blocks must be consecutive and cover the part. */
function indexProblem(
  { columns, blocks }: PartIndex,
  part: Pick<PublishedPart, 'bytes' | 'rows'>,
  expected: number,
): string | null {
  if (columns !== expected) return `it has ${columns} columns, but the manifest has ${expected}`;
  let end = blocks[0]?.offset ?? 0;
  let rows = 0;
  for (const [n, block] of blocks.entries()) {
    const numbers = [block.rows, block.offset, block.bytes, block.rawBytes];
    if (!numbers.every((number) => Number.isSafeInteger(number) && number > 0))
      return `block ${n} has an invalid size`;
    if (block.offset !== end) return `block ${n} does not begin where the previous block ends`;
    if (n > 0 && block.first <= blocks[n - 1]!.last)
      return `block ${n} does not begin after the last key of the previous block`;
    end += block.bytes;
    rows += block.rows;
  }
  if (end > part.bytes) return `its blocks extend past the part's ${part.bytes} bytes`;
  if (rows !== part.rows) return `it has ${rows} rows, but the manifest has ${part.rows}`;
  return null;
}

/**
 * Decompresses every block separately while the object is streamed, as a merge does, and checks it against the index. It
 * holds one compressed block in memory. The blocks must have passed `indexProblem`.
 */
function blockCheck(at: string, blocks: readonly Block[], framing: Framing, findings: ObjectProblems) {
  let number = 0;
  let position = 0;
  let pieces: Buffer[] = [];
  const isWhole = async (packed: Buffer, block: Block): Promise<boolean> => {
    try {
      const raw = await framing.unpack(packed, block.rawBytes);
      return raw.length === block.rawBytes && crc32(raw) === block.rawCrc32;
    } catch {
      // zlib's message (such as `invalid distance code`) is less useful than the number of the block.
      return false;
    }
  };
  return async (chunk: Buffer): Promise<void> => {
    const start = position;
    const end = start + chunk.length;
    position = end;
    for (let block = blocks[number]; block !== undefined && block.offset < end; block = blocks[number]) {
      const blockEnd = block.offset + block.bytes;
      pieces.push(
        chunk.subarray(Math.max(0, block.offset - start), Math.min(chunk.length, blockEnd - start)),
      );
      if (blockEnd > end) return;
      const packed = Buffer.concat(pieces);
      pieces = [];
      if (!(await isWhole(packed, block)))
        findings.add('block', `${at}: block ${number} does not match its index`);
      number++;
    }
  };
}
