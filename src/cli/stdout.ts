/** Written at once: one call for each short line would cost more than the line. */
const BATCH_BYTES = 64 * 1024;

/**
 * Writes pieces to stdout as fast as its reader takes them, holding 64 KiB or one piece. When the reader has gone away
 * (`| head`) it stops asking for more, and ends well.
 */
export async function writeAll(pieces: AsyncIterable<string | Buffer>): Promise<void> {
  let batch: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    const buffer = Buffer.from(piece);
    batch.push(buffer);
    bytes += buffer.length;
    if (bytes < BATCH_BYTES) continue;
    if ((await write(Buffer.concat(batch))) === 'closed') return;
    batch = [];
    bytes = 0;
  }
  await write(Buffer.concat(batch));
}

function write(chunk: Buffer): Promise<'written' | 'closed'> {
  return new Promise((resolve, reject) => {
    process.stdout.write(chunk, (error) => {
      if (!error) return resolve('written');
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return resolve('closed');
      reject(error);
    });
  });
}
