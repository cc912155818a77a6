import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { EpochMs, Millis } from '../core/brands.js';
import { errorMessage } from '../core/errors.js';
import { withTimeout } from '../core/reachability.js';
import type { ConnectionSettings } from '../core/settings.js';
import { Coalescer } from './coalescer.js';
import { type Handshake, handshakeMethods, handshakeOf } from './handshake.js';
import { NoticeLog, type WebhookLog } from './log.js';
import { namedResourcesOf } from './notice.js';
import { type Answer, Receiver, refusal, unavailable, write } from './receiver.js';

/** Longest wait for a signal, in milliseconds; after it, the sender gets a 503 and may retry. */
const WAIT_MS = 12_000;
const HEALTH_MS = 3_000;
/** Limit for all bodies that are being read, and for those of one connection. */
const MAX_HELD_BYTES = 64 * 1024 ** 2;
/** Only so much of a request is parsed before its signature is checked. */
const MAX_HANDSHAKE_BYTES = 64 * 1024;
/** Most concurrent notices, each with up to 16 KiB of headers. While Temporal is slow, they must not fill the memory. */
const MAX_NOTICES = 2_000;

/** Records durably that a resource changed. */
export type SendNotice = (connection: string, resource: string, notices: number) => Promise<void>;

export interface WebhookHandlerOptions {
  /** Connections without a `webhook` section are ignored. */
  readonly connections: readonly ConnectionSettings[];
  /** Resolves when the notice is durable, and rejects if it may be lost. Must have its own time limit. */
  readonly send: SendNotice;
  /** For `GET /healthz`: resolves if the receiver can accept notices. */
  readonly ready: () => Promise<void>;
  readonly log: WebhookLog;
  /** Longest time that a notice waits for its signal. Default: 12,000. */
  readonly waitMs?: Millis | undefined;
  /** Most concurrent notices; further ones get a 503. Default: 2,000. */
  readonly maxNotices?: number | undefined;
  /** Least time between two signals of one resource. Default: 1,000. */
  readonly spacingMs?: Millis | undefined;
  /** For the tolerance of timestamps. */
  readonly now?: (() => EpochMs) | undefined;
}

export interface WebhookHandler {
  /** For `http.createServer`, or for a server that has not read the body yet. Never throws. */
  readonly handle: RequestListener;
  /** Reads every secret once. @throws ConfigurationError for one that cannot be read */
  checkSecrets(): Promise<void>;
  /** Logs the count of the notices that are not yet in the log. Call it after the server has closed. */
  close(): void;
}

/**
 * Receives change notices at `POST /hooks/<connection>`, answers the configured handshakes, and serves `GET /healthz`. The response is 202, or as configured, only when a
 * signal that was sent after the notice arrived is durable. Replayed notices are harmless: a notice can only cause a
 * resource to be read again, and `sync.minInterval` limits how often.
 *
 * @example
 * const { handle } = createWebhookHandler({
 *   connections: settings.connections,
 *   send: createNoticeSender(temporal),
 *   ready: () => pingTemporal(temporal),
 *   log: console,
 * });
 * createServer(handle).listen(8080, '127.0.0.1');
 */
export function createWebhookHandler(options: WebhookHandlerOptions): WebhookHandler {
  return new Handler(options);
}

class Handler implements WebhookHandler {
  readonly #ready: () => Promise<void>;
  readonly #waitMs: number;
  readonly #maxNotices: number;
  readonly #log: NoticeLog;
  readonly #receivers: ReadonlyMap<string, Receiver>;
  readonly #bodies = new BodyReader(MAX_HELD_BYTES);
  readonly #coalescer: Coalescer;
  #notices = 0;
  #readyCheck: Promise<boolean> | null = null;

  constructor(options: WebhookHandlerOptions) {
    const { connections, send, spacingMs, now = Date.now } = options;
    this.#ready = options.ready;
    this.#waitMs = options.waitMs ?? WAIT_MS;
    this.#maxNotices = options.maxNotices ?? MAX_NOTICES;
    this.#log = new NoticeLog(options.log, now);
    const context = { warn: (text: string) => this.#log.warn(text), now };
    this.#receivers = new Map(
      connections.flatMap(({ name, webhook, resources }) => {
        if (webhook === null) return [];
        const names = resources.map((resource) => resource.name);
        return [[name, new Receiver(name, webhook, names, context)]];
      }),
    );
    // Names never contain slashes.
    const sendKey = (key: string, notices: number) => send(...(key.split('/') as [string, string]), notices);
    this.#coalescer = new Coalescer(sendKey, spacingMs);
  }

  // Functions and not methods, because users pass them on by themselves.
  readonly handle: RequestListener = (request, response) => void this.#serve(request, response);

  readonly checkSecrets = async (): Promise<void> => {
    for (const receiver of this.#receivers.values()) await receiver.checkSecret();
  };

  readonly close = (): void => this.#log.close();

  /** Never rejects. */
  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const answer = await this.#respond(request);
      if (answer === null) response.destroy();
      else write(response, answer);
    } catch (error) {
      this.#log.warn(`a notice could not be processed: ${errorMessage(error)}`);
      write(response, unavailable('the receiver cannot accept notices now'));
    }
  }

  async #respond(request: IncomingMessage): Promise<Answer | null> {
    const [path = ''] = (request.url ?? '').split('?');
    if (path === '/healthz') return this.#health(request);
    const receiver = this.#receivers.get(/^\/hooks\/([^/]+)$/.exec(path)?.[1] ?? '');
    // The body is not read, so the connection must be closed.
    if (receiver === undefined) return { ...refusal(404, 'no such hook'), close: true };
    if (request.method !== 'POST') return this.#respondWithoutBody(request, receiver);
    if (this.#notices >= this.#maxNotices) {
      request.resume();
      this.#log.warn(`more than ${this.#maxNotices} concurrent notices; answered 503`);
      return unavailable('too many concurrent notices');
    }
    this.#notices++;
    try {
      const read = await this.#readNotice(request, receiver);
      if (read === null || 'status' in read) return read;
      const { resources, handshake } = read;
      const answer = resources === null ? null : await this.#forward(receiver, resources);
      if (handshake === null || (answer !== null && answer.status >= 400)) return answer;
      return this.#shake(receiver, handshake);
    } finally {
      this.#notices--;
    }
  }

  /** A GET, for example, is a handshake or an error. */
  #respondWithoutBody(request: IncomingMessage, receiver: Receiver): Answer {
    const { handshake: kinds } = receiver.webhook;
    const handshake = handshakeOf(request, Buffer.alloc(0), kinds);
    if (handshake === null) return notAllowed(['POST', ...handshakeMethods(kinds)].join(', '));
    return { ...this.#shake(receiver, handshake), close: true };
  }

  #shake({ name }: Receiver, { kind, answer }: Handshake): Answer {
    // A probe is repeated every few minutes, as a rule.
    if (kind !== 'probe') this.#log.handshake(name, kind);
    return answer;
  }

  /**
   * Reads and authenticates a notice. It is separate from the wait for Temporal: meanwhile, the body must not stay in
   * memory. The signature is checked first: nothing of an unsigned request is parsed, except for a configured handshake, which need not
   * be signed. One that also contains resources is a notice, too, and must be signed as one: no notice may be lost because it
   * looks like a handshake.
   *
   * @returns its resources (`null`: it is no notice) and handshake; `null` if the sender has disconnected
   */
  async #readNotice(
    request: IncomingMessage,
    receiver: Receiver,
  ): Promise<{ resources: readonly string[] | null; handshake: Handshake | null } | Answer | null> {
    const { name, webhook, rules } = receiver;
    const read = await this.#bodies.read(request, webhook.maxBodyBytes, name);
    if ('failure' in read) {
      if (read.failure === 'disconnected') return null;
      if (read.failure === 'full') return { ...unavailable('too many concurrent notices'), close: true };
      const message = `a notice can have at most ${webhook.maxBodyBytes} bytes`;
      return { ...refusal(413, message), close: true };
    }
    const { body } = read;
    const mayBeHandshake = webhook.handshake.length > 0 && body.length <= MAX_HANDSHAKE_BYTES;
    const unsigned = mayBeHandshake ? await this.#handshakeIn(request, body, receiver) : null;
    if (unsigned !== null && (namedResourcesOf(body, rules) ?? []).length === 0)
      return { resources: null, handshake: unsigned };
    const refused = await receiver.authenticate(request, body);
    return refused ?? { resources: namedResourcesOf(body, rules) ?? rules.resources, handshake: unsigned };
  }

  async #handshakeIn(request: IncomingMessage, body: Buffer, receiver: Receiver): Promise<Handshake | null> {
    const { handshake: kinds } = receiver.webhook;
    const secret = kinds.includes('zoom') ? await receiver.signingSecret().catch(() => null) : null;
    return handshakeOf(request, body, kinds, secret);
  }

  async #forward({ name: connection, webhook }: Receiver, resources: readonly string[]): Promise<Answer> {
    const late = new Error('Temporal did not confirm the notice in time');
    try {
      const sent = resources.map((resource) => this.#coalescer.notify(`${connection}/${resource}`));
      await withTimeout(Promise.all(sent), this.#waitMs, () => late);
      this.#log.accept(connection, resources);
      const { status, body } = webhook.answer;
      return { status, body: status === 204 || body === 'empty' ? null : { resources } };
    } catch (error) {
      if (error === late) {
        this.#log.warn(
          `${connection}: Temporal did not confirm a notice within ${this.#waitMs / 1000} s; answered 503`,
        );
        return unavailable('the notice could not be stored in time');
      }
      this.#log.warn(`${connection}: Temporal did not accept a notice; answered 503: ${errorMessage(error)}`);
      return unavailable('the notice could not be stored');
    }
  }

  async #health({ method }: IncomingMessage): Promise<Answer> {
    if (method !== 'GET' && method !== 'HEAD') return notAllowed('GET, HEAD');
    this.#readyCheck ??= this.#checkReady();
    return (await this.#readyCheck)
      ? { status: 200, body: { ready: true } }
      : unavailable('Temporal is unreachable');
  }

  /** One check for all concurrent health requests. */
  async #checkReady(): Promise<boolean> {
    try {
      await withTimeout(this.#ready(), HEALTH_MS);
      return true;
    } catch {
      return false;
    } finally {
      this.#readyCheck = null;
    }
  }
}

function notAllowed(allow: string): Answer {
  return { ...refusal(405, `allowed: ${allow}`), headers: { Allow: allow }, close: true };
}

/** How much of a body that is too large is still read and dropped, so that its sender can read the response. */
const DROPPED_BYTES = 4 * 1024 * 1024;
const DROPPED_MS = 2_000;

export type ReadBody =
  | { readonly body: Buffer }
  | { readonly failure: 'too-large' | 'full' | 'disconnected' };

/** The first allocation for a body without a known length. */
const FIRST_BYTES = 1024;

/** A body that grows. It copies each chunk: a chunk of one byte would otherwise keep a buffer of hundreds of bytes. */
class GrowingBody {
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The size of the buffer that a chunk needs. @param maxBytes of the body */
  sizeWith(chunk: Buffer, maxBytes: number): number {
    const needed = this.#length + chunk.length;
    let size = Math.max(this.#buffer.length, FIRST_BYTES);
    while (size < needed) size *= 2;
    return Math.max(Math.min(size, maxBytes), needed);
  }

  add(chunk: Buffer, size: number): void {
    if (size > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(size);
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length += chunk.length;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }
}

/** Reads request bodies and limits the memory that all of them take together, and that those of one connection take. */
export class BodyReader {
  readonly #held = new Map<string, number>();
  readonly #maxHeldBytes: number;
  #all = 0;

  /** @param maxHeldBytes limit for all bodies together, above which `read` returns `full`; half of it for one connection */
  constructor(maxHeldBytes: number) {
    this.#maxHeldBytes = maxHeldBytes;
  }

  /** Reads the raw body of at most `maxBytes` bytes. Never throws. @param connection whose notice it is */
  read(request: IncomingMessage, maxBytes: number, connection: string): Promise<ReadBody> {
    let body = new GrowingBody();
    let held = 0;
    let dropped = 0;
    let failure: 'too-large' | 'full' | null =
      Number(request.headers['content-length'] ?? 0) > maxBytes ? 'too-large' : null;
    return new Promise<ReadBody>((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const hold = (bytes: number): boolean => {
        const ofConnection = (this.#held.get(connection) ?? 0) + bytes - held;
        // One connection with a large `maxBody` can always read a notice.
        const isFull =
          this.#all + bytes - held > this.#maxHeldBytes ||
          ofConnection > Math.max(this.#maxHeldBytes / 2, maxBytes);
        if (isFull) return false;
        this.#all += bytes - held;
        this.#held.set(connection, ofConnection);
        held = bytes;
        return true;
      };
      const end = (result: ReadBody): void => {
        clearTimeout(timer);
        hold(0);
        request.off('data', onData);
        request.resume();
        resolve(result);
      };
      const drop = (found: 'too-large' | 'full'): void => {
        failure = found;
        body = new GrowingBody();
        hold(0);
        timer ??= setTimeout(() => end({ failure: found }), DROPPED_MS);
      };
      const onData = (chunk: Buffer): void => {
        if (failure !== null) {
          dropped += chunk.length;
          if (dropped > DROPPED_BYTES) end({ failure });
          return;
        }
        const size = body.sizeWith(chunk, maxBytes);
        if (size > maxBytes) drop('too-large');
        else if (hold(size)) body.add(chunk, size);
        else drop('full');
      };
      if (failure !== null) drop(failure);
      request.on('data', onData);
      request.once('end', () => end(failure === null ? { body: body.bytes() } : { failure }));
      request.once('error', () => end({ failure: 'disconnected' }));
      request.once('close', () => end({ failure: 'disconnected' }));
    });
  }
}
