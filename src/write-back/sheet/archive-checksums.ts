/** Bytes of the last record of an archive without its comment. */
const END_BYTES = 22;
const MAX_COMMENT = 0xffff;
const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const LOCATOR_BYTES = 20;
const ENTRY = 0x02014b50;
const ENTRY_BYTES = 46;
/** The flag of an entry whose name is UTF-8. */
const UTF8 = 0x800;

/**
 * The CRC-32 of each file of a zip archive, which fflate does not compare (APPNOTE.TXT 4.3.12 to 4.3.16). What follows a damaged
 * entry is left out.
 */
export function archiveChecksums(archive: Uint8Array): Map<string, number> {
  const bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  const found = new Map<string, number>();
  let at = directoryOf(bytes);
  while (at !== null && at + ENTRY_BYTES <= bytes.length && bytes.readUInt32LE(at) === ENTRY) {
    const [name, extra, comment] = [28, 30, 32].map((offset) => bytes.readUInt16LE(at! + offset));
    const encoding = (bytes.readUInt16LE(at + 8) & UTF8) === 0 ? 'latin1' : 'utf8';
    const text = bytes.toString(encoding, at + ENTRY_BYTES, at + ENTRY_BYTES + name!);
    found.set(text, bytes.readUInt32LE(at + 16));
    at += ENTRY_BYTES + name! + extra! + comment!;
  }
  return found;
}

/** The offset of the first entry; `null` without an end. */
function directoryOf(bytes: Buffer): number | null {
  let end = bytes.length - END_BYTES;
  const first = Math.max(0, end - MAX_COMMENT);
  while (end >= first && bytes.readUInt32LE(end) !== END) end--;
  if (end < first) return null;
  const offset = bytes.readUInt32LE(end + 16);
  return offset === 0xffffffff ? directory64Of(bytes, end - LOCATOR_BYTES) : offset;
}

function directory64Of(bytes: Buffer, locator: number): number | null {
  if (locator < 0 || bytes.readUInt32LE(locator) !== LOCATOR_64) return null;
  const end = Number(bytes.readBigUInt64LE(locator + 8));
  if (end + 56 > bytes.length || bytes.readUInt32LE(end) !== END_64) return null;
  return Number(bytes.readBigUInt64LE(end + 48));
}
