import type { IncomingMessage, RequestListener } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectionSettings } from '../core/settings.js';
import { type Answer, refusal, unavailable, write } from './answer.js';
import { BodyReader } from './body.js';
import { Coalescer } from './coalescer.js';
import { TroubleLog, type WebhookLog } from './log.js';
import { resourcesOf } from './notice.js';
import { Receiver } from './receiver.js';

/** Longest wait for a signal, in milliseconds; then the sender is told to come again. */
const WAIT_MS = 12_000;
const HEALTH_MS = 3_000;
/** Of all bodies that are being read at a time. */
const MOST_HELD_BYTES = 64 * 1024 ** 2;

/** Makes it durable that a resource changed. */
export type SendNotice = (connection: string, resource: string, notices: number) => Promise<void>;

export interface WebhookHandlerOptions {
  /** Those without a `webhook` section are not served. */
  readonly connections: readonly ConnectionSettings[];
  /** Resolves once the notice cannot be lost any more, and rejects when it may be. Bounded by itself. */
  readonly send: SendNotice;
  /** For `GET /healthz`: resolves when notices can be taken. */
  readonly ready: () => Promise<void>;
  readonly log: WebhookLog;
  /** Longest time that a notice waits for its signal, in milliseconds. Default: 12,000. */
  readonly waitMs?: number | undefined;
  /** Least time between two signals of one resource, in milliseconds. Default: 1,000. */
  readonly spacingMs?: number | undefined;
  /** Milliseconds since 1970, for the tolerance of timestamps. */
  readonly now?: (() => number) | undefined;
}

export interface WebhookHandler {
  /** For `http.createServer`, or to be mounted where nothing has read the body before. Never throws. */
  readonly handle: RequestListener;
  /** Reads every secret once. @throws ConfigurationError for one that cannot be read */
  checkSecrets(): Promise<void>;
}

/**
 * Receives change notices: `POST /hooks/<connection>`, and `GET /healthz`. The answer is 202 only once a signal that
 * was sent after the notice came is durable. Replays do no harm: all that a notice can do is to have a resource
 * read again, and `sync.minInterval` bounds how often.
 */
export function createWebhookHandler(options: WebhookHandlerOptions): WebhookHandler {
  const { send, ready, waitMs = WAIT_MS, spacingMs, now = Date.now } = options;
  const trouble = new TroubleLog(options.log, now);
  const receivers = new Map(
    options.connections
      .filter(({ webhook }) => webhook !== null)
      .map((connection) => [
        connection.name,
        new Receiver(connection, { warn: (text) => trouble.warn(text), now }),
      ]),
  );
  const bodies = new BodyReader(MOST_HELD_BYTES);
  const coalescer = new Coalescer({
    // Names have no slashes.
    send: (key, notices) => send(...(key.split('/') as [string, string]), notices),
    ...(spacingMs === undefined ? {} : { spacingMs }),
  });

  return {
    handle(request, response) {
      answerTo(request).then(
        (answer) => (answer === null ? response.destroy() : write(response, answer)),
        (error: unknown) => {
          trouble.warn(`a notice could not be taken: ${messageOf(error)}`);
          write(response, unavailable('the receiver cannot take notices now'));
        },
      );
    },
    async checkSecrets() {
      for (const receiver of receivers.values()) await receiver.checkSecret();
    },
  };

  async function answerTo(request: IncomingMessage): Promise<Answer | null> {
    const [path = ''] = (request.url ?? '').split('?');
    if (path === '/healthz') return health(request);
    const receiver = receivers.get(/^\/hooks\/([^/]+)$/.exec(path)?.[1] ?? '');
    // What is not read is not kept either: the connection ends.
    if (receiver === undefined) return { ...refusal(404, 'there is no such hook'), close: true };
    if (request.method !== 'POST') return notAllowed('POST');
    const read = await bodies.read(request, receiver.webhook.maxBodyBytes);
    if ('trouble' in read) {
      if (read.trouble === 'gone') return null;
      if (read.trouble === 'full') return { ...unavailable('too many notices at a time'), close: true };
      const message = `a notice may have ${receiver.webhook.maxBodyBytes} bytes`;
      return { ...refusal(413, message), close: true };
    }
    const refused = await receiver.judge(request, read.body);
    if (refused !== null) return refused;
    const resources = resourcesOf(read.body, receiver.rules);
    return take(receiver.name, resources);
  }

  async function take(connection: string, resources: readonly string[]): Promise<Answer> {
    const timer = new AbortController();
    const sent = Promise.all(resources.map((resource) => coalescer.notify(`${connection}/${resource}`)));
    const late = delay(waitMs, 'late', { signal: timer.signal }).catch(() => 'late' as const);
    try {
      if ((await Promise.race([sent, late])) === 'late') {
        trouble.warn(
          `${connection}: Temporal took longer than ${waitMs / 1000} s for a notice; answered 503`,
        );
        return unavailable('the notice could not be kept in time');
      }
      return { status: 202, body: { resources } };
    } catch (error) {
      trouble.warn(`${connection}: Temporal did not take a notice; answered 503: ${messageOf(error)}`);
      return unavailable('the notice could not be kept');
    } finally {
      timer.abort();
      // After a time-out nobody else hears of it.
      sent.catch(() => {});
    }
  }

  async function health({ method }: IncomingMessage): Promise<Answer> {
    if (method !== 'GET' && method !== 'HEAD') return notAllowed('GET, HEAD');
    const isReady = await Promise.race([
      ready().then(
        () => true,
        () => false,
      ),
      delay(HEALTH_MS, false, { ref: false }),
    ]);
    return isReady ? { status: 200, body: { ready: true } } : unavailable('Temporal is out of reach');
  }
}

function notAllowed(allow: string): Answer {
  return { ...refusal(405, `allowed: ${allow}`), headers: { Allow: allow }, close: true };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
