import { parentPort } from 'node:worker_threads';
import { gunzipper, plainUnpacker, type Unpacker } from '../../lake/part/part-rows.js';
import { parquetLibrary } from './library.js';
import { type ConversionJob, type Converted, PartConverter } from './part-converter.js';

/** What the thread receives for each part: `job`, its pieces as stored, and `end`. It answers each message in turn. */
export type ToThread =
  | { readonly kind: 'job'; readonly job: ConversionJob }
  | { readonly kind: 'piece'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'end' };

/** What has come of a message. */
export interface FromThread {
  /** The types of the file's columns; once, before the first bytes. */
  readonly types: Converted['types'] | null;
  /** The next bytes of the file. */
  readonly bytes: readonly Uint8Array<ArrayBuffer>[];
  /** Of `end`. */
  readonly result: Converted | null;
}

/** The main module of the thread that converts parts, so that the event loop of the worker process stays free. */
const port = parentPort!;
const library = await parquetLibrary();
let part: { readonly converter: PartConverter; readonly unpacker: Unpacker } | null = null;
let types: Converted['types'] | null = null;
let bytes: Uint8Array<ArrayBuffer>[] = [];
let last = Promise.resolve();

// Decompression is asynchronous, and messages are in order. After an error, no message is received any more.
port.on('message', (message: ToThread) => {
  last = last.then(async () => answer(await receive(message)));
  last.catch(fail);
});

function answer(result: Converted | null): void {
  const buffers = bytes.map(({ buffer }) => buffer);
  port.postMessage({ types, bytes, result } satisfies FromThread, buffers);
  types = null;
  bytes = [];
}

async function receive(message: ToThread): Promise<Converted | null> {
  if (message.kind === 'job') {
    const { job } = message;
    const converter = new PartConverter(library, job, {
      onTypes: (found) => {
        types = found;
      },
      onBytes: (piece) => void bytes.push(piece),
    });
    part = { converter, unpacker: job.csv.compression === 'gzip' ? gunzipper() : plainUnpacker };
    return null;
  }
  const { converter, unpacker } = part!;
  const pieces = message.kind === 'piece' ? unpacker.push(Buffer.from(message.bytes.buffer)) : unpacker.end();
  for (;;) {
    const { value: piece, done } = await pieces.next().catch(notIntact);
    if (done) break;
    converter.push(piece);
  }
  if (message.kind === 'piece') return null;
  unpacker.close();
  part = null;
  return converter.end();
}

/** The part is not as its manifest says. */
function notIntact(error: NodeJS.ErrnoException): never {
  throw error.code?.startsWith('Z_')
    ? new RangeError(`it is not an intact gzip file: ${error.message}`)
    : error;
}

/** Ends the thread with an error, whatever Node.js does about rejected promises. */
function fail(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}
