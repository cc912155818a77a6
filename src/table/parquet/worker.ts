import { parentPort } from 'node:worker_threads';
import { parquetLibrary } from './library.js';
import { type ConversionJob, type Converted, PartConverter } from './part-converter.js';

/** What the thread receives for each part: `job`, its pieces, and `end`. */
export type ToThread =
  | { readonly kind: 'job'; readonly job: ConversionJob }
  | { readonly kind: 'piece'; readonly bytes: Uint8Array }
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
let converter: PartConverter | null = null;

port.on('message', (message: ToThread) => {
  if (message.kind === 'job') {
    converter = new PartConverter(library, message.job, {
      onTypes: (types) => send({ kind: 'types', types }),
      onBytes: (bytes) => send({ kind: 'bytes', bytes }, [bytes.buffer]),
    });
  } else if (message.kind === 'end') {
    const result = converter!.end();
    converter = null;
    send({ kind: 'done', result });
  } else {
    const { buffer, byteOffset, byteLength } = message.bytes;
    converter!.push(Buffer.from(buffer, byteOffset, byteLength).toString('latin1'));
    send({ kind: 'taken' });
  }
});
