import type { EpochMs, ObjectKey } from '../../core/brands.js';
import { damagedObject } from '../../lake/damaged-error.js';
import { checkLayout, LAYOUT_VERSION } from '../../lake/documents/lake-layout.js';
import { crc32 } from '../../lake/store/crc32.js';
import type { ObjectStore } from '../../lake/store/index.js';

/**
 * What one entry of the ledger says about a row. The numbers of all entries are added up, so their order does not matter.
 * `created`: the row was written. `doubtful`: it may have been written. `confirmed`: a row that an earlier entry of the same
 * batch counts as doubtful was written. `cleared`: such a row was not written.
 */
export const CHANGES = ['created', 'doubtful', 'confirmed', 'cleared'] as const;
export type Change = (typeof CHANGES)[number];

export interface LedgerBatch {
  /** Batches claim their rows in turn, so a later batch has a larger number. */
  readonly number: number;
  readonly batchId: string;
  /** When its entry was closed; `null` for a claim that is not closed. */
  readonly at: EpochMs | null;
  /** Where its rows were sent. */
  readonly baseUrl: string;
}

/**
 * The binary form of the ledger's objects: the length of the header, the CRC32 of the header, the header as JSON, records of
 * a fixed size, and the CRC32 of everything before it. Numbers have 4 bytes and are little-endian.
 */
const PREFIX = 8;
/** Longer headers do not occur: it is the header of a million sections. */
const MAX_HEADER = 2 ** 28;

/** Rows of one entry with the same change. It has at least one record. */
export interface Section extends LedgerBatch {
  /** Whether each record begins with the hash of a key. The hash of the cells follows. */
  readonly isKeyed: boolean;
  readonly change: Change;
  readonly rows: number;
}

interface RowsHeader {
  readonly layout: number;
  readonly sections: readonly Section[];
}

/** Bytes of a hash: half of a SHA-256. A collision among 10^9 rows has a probability of about 10^-21. */
export const ROW_HASH_BYTES = 16;

export function recordBytes(isKeyed: boolean): number {
  return (isKeyed ? 2 : 1) * ROW_HASH_BYTES;
}

/** Encodes the header of an object. */
export function encodeHeader(header: object): Buffer {
  const json = Buffer.from(JSON.stringify(header));
  const prefix = Buffer.alloc(PREFIX);
  prefix.writeUInt32LE(json.length);
  prefix.writeUInt32LE(crc32(json), 4);
  return Buffer.concat([prefix, json]);
}

/** Adds the checksum to the pieces of an object. */
export function withCrc(pieces: readonly Buffer[]): Buffer {
  return Buffer.concat([...pieces, checksum(pieces.reduce((crc, piece) => crc32(piece, crc), 0))]);
}

export function checksum(crc: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(crc);
  return bytes;
}

/** The header of an object with rows. The records of the sections follow in their order. */
export function encodeSections(sections: readonly Section[]): Buffer {
  return encodeHeader({ layout: LAYOUT_VERSION, sections } satisfies RowsHeader);
}

/** Decodes an object that is held in memory. @throws DamagedError */
export function decodeObject<Header>(key: ObjectKey, body: Buffer): { header: Header; records: Buffer } {
  const end = body.length - 4;
  if (end < PREFIX || body.readUInt32LE(end) !== crc32(body.subarray(0, end)))
    throw damagedObject(key, 'its checksum does not match');
  const begin = headerEnd(key, body);
  return { header: parseHeader(key, body.subarray(0, begin)), records: body.subarray(begin, end) };
}

/**
 * Reads the records of an object as they arrive, section by section, with a few of them in memory.
 *
 * @throws DamagedError after all records if the object is damaged; LakeLayoutError before the first one; ObjectNotFoundError
 *   if others have replaced it
 */
export async function* readLedgerRows(
  store: ObjectStore,
  key: ObjectKey,
): AsyncGenerator<{ readonly section: Section; readonly records: Buffer }> {
  let sections: readonly Section[] | null = null;
  let [crc, rest]: [number, Buffer] = [0, Buffer.alloc(0)];
  /** The current section, and how many of its records were read. */
  let [at, rows] = [0, 0];
  for await (const chunk of store.stream(key)) {
    rest = Buffer.concat([rest, chunk]);
    if (sections === null) {
      const begin = headerEnd(key, rest);
      if (rest.length < begin) continue;
      const head = rest.subarray(0, begin);
      sections = parseSections(key, head);
      crc = crc32(head);
      rest = rest.subarray(begin);
    }
    for (let section = sections[at]; section !== undefined; section = sections[at]) {
      const size = recordBytes(section.isKeyed);
      const more = Math.min(section.rows - rows, Math.floor(rest.length / size));
      if (!(more > 0)) break;
      const records = rest.subarray(0, more * size);
      crc = crc32(records, crc);
      yield { section, records };
      rest = rest.subarray(records.length);
      rows += more;
      if (rows === section.rows) [at, rows] = [at + 1, 0];
    }
  }
  // The last four bytes are the checksum.
  if (sections?.length !== at || rest.length !== 4 || rest.readUInt32LE(0) !== crc)
    throw damagedObject(key, 'its checksum does not match');
}

/** Where the header ends; infinite if the bytes do not say it yet. */
function headerEnd(key: ObjectKey, bytes: Buffer): number {
  if (bytes.length < PREFIX) return Number.POSITIVE_INFINITY;
  const length = bytes.readUInt32LE(0);
  if (length > MAX_HEADER) throw damagedHeader(key);
  return PREFIX + length;
}

function parseHeader<Header>(key: ObjectKey, head: Buffer): Header {
  const json = head.subarray(PREFIX);
  if (head.length < PREFIX || head.readUInt32LE(4) !== crc32(json)) throw damagedHeader(key);
  return JSON.parse(json.toString('utf8')) as Header;
}

function parseSections(key: ObjectKey, head: Buffer): readonly Section[] {
  const { layout, sections } = parseHeader<RowsHeader>(key, head);
  checkLayout(key, layout);
  return sections;
}

function damagedHeader(key: ObjectKey): Error {
  return damagedObject(key, 'the checksum of its header does not match');
}

/** The sections of an object with rows, from its header alone. @throws DamagedError, LakeLayoutError */
export async function readSections(store: ObjectStore, key: ObjectKey): Promise<readonly Section[]> {
  let head = await store.read(key, { range: { offset: 0, length: 64 * 1024 } });
  if (head.length < PREFIX) throw damagedHeader(key);
  const begin = headerEnd(key, head);
  if (head.length < begin) head = await store.read(key, { range: { offset: 0, length: begin } });
  return parseSections(key, head.subarray(0, begin));
}
