import type { IncomingMessage, RequestListener } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '../core/errors.js';
import type { ConnectionSettings } from '../core/settings.js';
import { type Answer, refusal, unavailable, write } from './answer.js';
import { BodyReader } from './body.js';
import { Coalescer } from './coalescer.js';
import { WarningLog, type WebhookLog } from './log.js';
import { resourcesOf } from './notice.js';
import { Receiver } from './receiver.js';

/** Longest wait for a signal, in milliseconds; after it, the sender gets a 503 and may retry. */
const WAIT_MS = 12_000;
const HEALTH_MS = 3_000;
/** Limit for all bodies that are being read. */
const MAX_HELD_BYTES = 64 * 1024 ** 2;
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
  /** Longest time that a notice waits for its signal, in milliseconds. Default: 12,000. */
  readonly waitMs?: number | undefined;
  /** Most concurrent notices; further ones get a 503. Default: 2,000. */
  readonly maxNotices?: number | undefined;
  /** Least time between two signals of one resource, in milliseconds. Default: 1,000. */
  readonly spacingMs?: number | undefined;
  /** Milliseconds since 1970, for the tolerance of timestamps. */
  readonly now?: (() => number) | undefined;
}

export interface WebhookHandler {
  /** For `http.createServer`, or for a server that has not read the body yet. Never throws. */
  readonly handle: RequestListener;
  /** Reads every secret once. @throws ConfigurationError for one that cannot be read */
  checkSecrets(): Promise<void>;
}

/**
 * Receives change notices at `POST /hooks/<connection>`, and serves `GET /healthz`. The response is 202 only when a
 * signal that was sent after the notice arrived is durable. Replayed notices are harmless: a notice can only cause a
 * resource to be read again, and `sync.minInterval` limits how often.
 */
export function createWebhookHandler(options: WebhookHandlerOptions): WebhookHandler {
  const { send, ready, waitMs = WAIT_MS, spacingMs, now = Date.now } = options;
  const maxNotices = options.maxNotices ?? MAX_NOTICES;
  const warnings = new WarningLog(options.log, now);
  const receivers = new Map(
    options.connections
      .filter(({ webhook }) => webhook !== null)
      .map((connection) => [
        connection.name,
        new Receiver(connection, { warn: (text) => warnings.warn(text), now }),
      ]),
  );
  const bodies = new BodyReader(MAX_HELD_BYTES);
  const coalescer = new Coalescer({
    // Names never contain slashes.
    send: (key, notices) => send(...(key.split('/') as [string, string]), notices),
    ...(spacingMs === undefined ? {} : { spacingMs }),
  });

  let notices = 0;
  let readyCheck: Promise<boolean> | null = null;

  return {
    handle(request, response) {
      respond(request).then(
        (answer) => (answer === null ? response.destroy() : write(response, answer)),
        (error: unknown) => {
          warnings.warn(`a notice could not be processed: ${errorMessage(error)}`);
          write(response, unavailable('the receiver cannot accept notices now'));
        },
      );
    },
    async checkSecrets() {
      for (const receiver of receivers.values()) await receiver.checkSecret();
    },
  };

  async function respond(request: IncomingMessage): Promise<Answer | null> {
    const [path = ''] = (request.url ?? '').split('?');
    if (path === '/healthz') return health(request);
    const receiver = receivers.get(/^\/hooks\/([^/]+)$/.exec(path)?.[1] ?? '');
    // The body is not read, so the connection must be closed.
    if (receiver === undefined) return { ...refusal(404, 'no such hook'), close: true };
    if (request.method !== 'POST') return notAllowed('POST');
    if (notices >= maxNotices) {
      request.resume();
      warnings.warn(`more than ${maxNotices} concurrent notices; answered 503`);
      return unavailable('too many concurrent notices');
    }
    notices++;
    try {
      const notice = await readNotice(request, receiver);
      return notice !== null && 'resources' in notice
        ? await forward(receiver.name, notice.resources)
        : notice;
    } finally {
      notices--;
    }
  }

  /**
   * Reads and authenticates a notice. It is separate from the wait for Temporal, during which the body must not stay in
   * memory.
   *
   * @returns `null` if the sender has disconnected
   */
  async function readNotice(
    request: IncomingMessage,
    receiver: Receiver,
  ): Promise<{ readonly resources: readonly string[] } | Answer | null> {
    const read = await bodies.read(request, receiver.webhook.maxBodyBytes);
    if ('failure' in read) {
      if (read.failure === 'disconnected') return null;
      if (read.failure === 'full') return { ...unavailable('too many concurrent notices'), close: true };
      const message = `a notice can have at most ${receiver.webhook.maxBodyBytes} bytes`;
      return { ...refusal(413, message), close: true };
    }
    const refused = await receiver.authenticate(request, read.body);
    if (refused !== null) return refused;
    return { resources: resourcesOf(read.body, receiver.rules) };
  }

  async function forward(connection: string, resources: readonly string[]): Promise<Answer> {
    const timer = new AbortController();
    const sent = Promise.all(resources.map((resource) => coalescer.notify(`${connection}/${resource}`)));
    const timeout = delay(waitMs, 'timeout', { signal: timer.signal }).catch(() => 'timeout' as const);
    try {
      if ((await Promise.race([sent, timeout])) === 'timeout') {
        warnings.warn(
          `${connection}: Temporal did not confirm a notice within ${waitMs / 1000} s; answered 503`,
        );
        return unavailable('the notice could not be stored in time');
      }
      return { status: 202, body: { resources } };
    } catch (error) {
      warnings.warn(`${connection}: Temporal did not accept a notice; answered 503: ${errorMessage(error)}`);
      return unavailable('the notice could not be stored');
    } finally {
      timer.abort();
      // After a timeout, nothing else handles a rejection.
      sent.catch(() => {});
    }
  }

  /** One check for all concurrent health requests. */
  async function checkReady(): Promise<boolean> {
    const isReady = ready().then(
      () => true,
      () => false,
    );
    try {
      return await Promise.race([isReady, delay(HEALTH_MS, false, { ref: false })]);
    } finally {
      readyCheck = null;
    }
  }

  async function health({ method }: IncomingMessage): Promise<Answer> {
    if (method !== 'GET' && method !== 'HEAD') return notAllowed('GET, HEAD');
    readyCheck ??= checkReady();
    return (await readyCheck)
      ? { status: 200, body: { ready: true } }
      : unavailable('Temporal is out of reach');
  }
}

function notAllowed(allow: string): Answer {
  return { ...refusal(405, `allowed: ${allow}`), headers: { Allow: allow }, close: true };
}
