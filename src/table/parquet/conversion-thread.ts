import { parentPort } from 'node:worker_threads';
import { gunzipper, plainUnpacker, type Unpacker } from '../../lake/part/part-rows.js';
import { parquetLibrary } from './library.js';
import { type ConversionJob, type Converted, PartConverter } from './part-converter.js';

/** What the thread receives for each part: `job`, its pieces as stored, and `end`. */
export type ToThread =
  | { readonly kind: 'job'; readonly job: ConversionJob }
  | { readonly kind: 'piece'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'end' };

/** What it sends. `taken` answers each piece. */
export type FromThread =
  | { readonly kind: 'types'; readonly types: Converted['types'] }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'taken' }
  | { readonly kind: 'done'; readonly result: Converted };

/** The main module of the thread that converts parts, so that the event loop of the worker process stays free. */
const port = parentPort!;
const send = (message: FromThread, transfer: ArrayBuffer[] = []) => port.postMessage(message, transfer);
const library = await parquetLibrary();
let part: { readonly converter: PartConverter; readonly unpacker: Unpacker } | null = null;
let last = Promise.resolve();

// Decompression is asynchronous, and messages are in order. After an error, no message is received any more.
port.on('message', (message: ToThread) => {
  last = last.then(() => receive(message));
  last.catch(fail);
});

async function receive(message: ToThread): Promise<void> {
  if (message.kind === 'job') {
    const { job } = message;
    const converter = new PartConverter(library, job, {
      onTypes: (types) => send({ kind: 'types', types }),
      onBytes: (bytes) => send({ kind: 'bytes', bytes }, [bytes.buffer]),
    });
    part = { converter, unpacker: job.csv.compression === 'gzip' ? gunzipper() : plainUnpacker };
    return;
  }
  const { converter, unpacker } = part!;
  const pieces = message.kind === 'piece' ? unpacker.push(Buffer.from(message.bytes.buffer)) : unpacker.end();
  for (;;) {
    const { value: piece, done } = await pieces.next().catch(notIntact);
    if (done) break;
    converter.push(piece);
  }
  if (message.kind === 'piece') return send({ kind: 'taken' });
  unpacker.close();
  part = null;
  send({ kind: 'done', result: converter.end() });
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
