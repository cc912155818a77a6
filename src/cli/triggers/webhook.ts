import { once } from 'node:events';
import { ConfigurationError } from '../../core/configuration-error.js';
import { systemCause } from '../../core/system-error.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { createNoticeSender, pingTemporal } from '../../temporal/client/notices.js';
import {
  createWebhookHandler,
  startWebhookServer,
  type WebhookHandler,
  type WebhookLog,
  type WebhookServer,
} from '../../webhook/index.js';
import { withKeptTemporal } from '../shared/context.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { stopOnSignal } from '../shared/interrupt.js';
import { textLine } from '../shared/log-line.js';
import type { GlobalOptions } from '../shared/options.js';
import { logNotes, output } from '../shared/output.js';
import { readSettings } from '../shared/settings.js';
import { terminalWidth } from '../shared/terminal.js';
import {
  type Address,
  type Listener,
  listenersFor,
  type WebhookConnection,
  webhookConnections,
} from './webhook-listeners.js';

export interface WebhookOptions extends GlobalOptions {
  readonly listen?: string;
  /** `json` counts as soon as it is parsed (`withLogFormat`). */
  readonly logFormat: 'text' | 'json';
}

/** The receiver's log, which contains everything that the command writes to stderr. */
const LOG: WebhookLog = {
  info: (message, fields) => output.note(message, 'info', fields),
  warn: (message, fields) => output.note(message, 'warn', fields),
};

/** `worktrack webhook`: receives change notices until SIGTERM or Ctrl-C, then finishes those in flight. */
export async function runWebhook(options: WebhookOptions): Promise<ExitCode> {
  const listeners = listenersFor(
    webhookConnections(readSettings(options), options.connections),
    options.listen,
  );
  if (options.logFormat === 'text') logNotes(textNote);
  const stop = stopOnSignal(
    'accepting no more notices and finishing those in flight.',
    'Senders of notices in flight get no response.',
  );
  const stopped = once(stop.signal, 'abort');
  let isConnected = false;
  const serving = withKeptTemporal(options, 'this receiver', LOG, async (temporal) => {
    isConnected = true;
    return serve(temporal, listeners, { ...options, until: stopped });
  });
  try {
    await Promise.race([serving, stopped]);
    // Stopped before the connection to Temporal was open: there is nothing to finish.
    if (!isConnected) {
      serving.catch(() => {});
      return EXIT.done;
    }
    return await serving;
  } finally {
    stop.release();
  }
}

async function serve(
  temporal: TemporalClient,
  listeners: readonly Listener[],
  { taskQueue, until }: Pick<GlobalOptions, 'taskQueue'> & { readonly until: Promise<unknown> },
): Promise<ExitCode> {
  const servers: WebhookServer[] = [];
  const handlers: WebhookHandler[] = [];
  try {
    for (const { listen, connections } of listeners) {
      const handler = createWebhookHandler({
        connections,
        send: createNoticeSender(temporal, { taskQueue }),
        ready: () => pingTemporal(temporal),
        log: LOG,
      });
      handlers.push(handler);
      await handler.checkSecrets();
      const server = await open(listen, handler.handle);
      servers.push(server);
      announce(server, connections);
    }
    await until;
  } finally {
    await Promise.all(servers.map((server) => server.close()));
    for (const handler of handlers) handler.close();
  }
  return EXIT.done;
}

async function open(listen: Address, handle: Parameters<typeof startWebhookServer>[0]['handle']) {
  try {
    return await startWebhookServer({ handle, listen });
  } catch (error) {
    const why = systemCause(error);
    throw new ConfigurationError(`cannot listen on ${listen.host}, port ${listen.port}: ${why}`, {
      remedy: 'Change `webhook.listen`, or choose another address with --listen.',
      cause: error,
    });
  }
}

/** A line of the log with its time and its level, such as a worker's. */
function textNote(message: string, level: string, fields: Readonly<Record<string, unknown>>): string {
  const entry = {
    timestampNanos: BigInt(Date.now()) * 1_000_000n,
    level: level.toUpperCase() as 'INFO' | 'WARN' | 'ERROR',
    message,
    meta: fields,
  };
  return textLine(entry, process.stderr.isTTY ? terminalWidth(process.stderr) : undefined);
}

function announce({ url }: WebhookServer, connections: readonly WebhookConnection[]): void {
  output.note(`receiver on ${url}: GET /healthz`);
  for (const { name, webhook } of connections) {
    const { signature, handshake } = webhook;
    const proof =
      signature === null
        ? 'not signed: any process on this machine can send notices'
        : `${signature.algorithm} in ${signature.header}`;
    const answered = handshake.length === 0 ? '' : `; answers the handshake ${handshake.join(', ')}`;
    output.note(`POST /hooks/${name} (${proof}${answered})`, 'info', { connection: name });
  }
}
