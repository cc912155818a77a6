/** Size of one write; a separate write for each short line would be slow. */
const BATCH_BYTES = 64 * 1024;

/**
 * Writes chunks to stdout with back-pressure, buffering 64 KiB or one chunk. If the reader closes the pipe (`| head`), it
 * stops reading chunks and returns without an error.
 */
export async function writeAll(chunks: AsyncIterable<string | Buffer>): Promise<void> {
  let batch: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    const buffer = Buffer.from(chunk);
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
