import type { S3Client } from '@aws-sdk/client-s3';
import { sdk } from './sdk.js';

type Stack = S3Client['middlewareStack'];
/** A middleware: what it does, given the next one and the context of the request. */
type Layer = (next: unknown, context: unknown) => unknown;

/**
 * Sorts the middlewares of a client and a command once for each kind of command. The SDK does it again for each request, which
 * takes 6% of the CPU time of a worker with many small resources, and leaves a quarter of its garbage. Its own cache
 * (`cacheMiddleware`) also shares the context of a request, such as its endpoint, among requests at the same time.
 *
 * Call it when the client has all its middlewares. None may be added to a command, because others of its kind would get it.
 */
export function sortMiddlewareOnce(client: S3Client): void {
  const { middlewareStack: own } = client;
  const known = new Map<string, readonly Layer[]>();
  const concat = (ofCommand: Stack): unknown => ({
    ...ofCommand,
    resolve(handler: unknown, context: { readonly commandName?: string }): unknown {
      const name = context.commandName;
      const layers = (name && known.get(name)) || layersOf(own.concat(ofCommand));
      if (name) known.set(name, layers);
      return layers.reduceRight((next, layer) => layer(next, context), handler);
    },
  });
  client.middlewareStack = { ...own, concat: concat as Stack['concat'] };
}

/** The middlewares of a stack, the outermost first. The SDK calls stand-ins for them, the innermost first. */
function layersOf(stack: Stack): Layer[] {
  const layers: Layer[] = [];
  const standIn = (layer: unknown) => (next: unknown) => {
    layers.unshift(layer as Layer);
    return next;
  };
  // The stack of a new command is empty.
  const sorted = new (sdk().HeadBucketCommand)({ Bucket: '' }).middlewareStack;
  // An entry of a stack has its middleware, too.
  const entryOf = (middleware: unknown, entry: object): [never, never] => {
    const own = standIn(middleware);
    return [own as never, { ...entry, middleware: own } as never];
  };
  const add = (middleware: unknown, entry: object) => sorted.add(...entryOf(middleware, entry));
  const addRelativeTo = (middleware: unknown, entry: object) =>
    sorted.addRelativeTo(...entryOf(middleware, entry));
  stack.applyToStack({ add, addRelativeTo } as unknown as Stack);
  sorted.resolve((() => {}) as never, {} as never);
  return layers;
}
