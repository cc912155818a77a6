import { parentPort, workerData } from 'node:worker_threads';
import { parquetLibrary } from './library.js';
import { type ConversionJob, type Converted, PartConverter } from './part-converter.js';

/** What the thread of a conversion receives: pieces of the part, then `null`. */
export type ToThread = Uint8Array | null;

/** What it sends. `taken` answers each piece. */
export type FromThread =
  | { readonly kind: 'types'; readonly types: Converted['types'] }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'taken' }
  | { readonly kind: 'done'; readonly result: Converted };

/** The main module of the thread that converts one part, so that the event loop of the worker process stays free. */
const port = parentPort!;
const send = (message: FromThread, transfer: ArrayBuffer[] = []) => port.postMessage(message, transfer);

const converter = new PartConverter(await parquetLibrary(), workerData as ConversionJob, {
  onTypes: (types) => send({ kind: 'types', types }),
  onBytes: (bytes) => send({ kind: 'bytes', bytes }, [bytes.buffer]),
});

port.on('message', (piece: ToThread) => {
  if (piece === null) {
    send({ kind: 'done', result: converter.end() });
    port.close();
    return;
  }
  converter.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('latin1'));
  send({ kind: 'taken' });
});
