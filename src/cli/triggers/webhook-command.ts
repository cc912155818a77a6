import { once } from 'node:events';
import { isLoopbackAddress, readListen } from '../../config/index.js';
import { ConfigurationError } from '../../core/errors.js';
import { groupBy } from '../../core/group-by.js';
import type { ConnectionSettings, Settings, WebhookSettings } from '../../core/settings.js';
import { systemCause } from '../../core/system-error.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { createNoticeSender, pingTemporal } from '../../temporal/client/notice-sender.js';
import {
  createWebhookHandler,
  startWebhookServer,
  type WebhookHandler,
  type WebhookLog,
  type WebhookServer,
} from '../../webhook/index.js';
import { EXIT, type ExitCode, UsageError } from '../shared/choose-exit-code.js';
import { type GlobalOptions, parsed } from '../shared/command-options.js';
import { withKeptTemporal } from '../shared/context.js';
import { readSettings, selectConnections } from '../shared/each-connection.js';
import { stopOnSignal } from '../shared/interrupt.js';
import { textLine } from '../shared/log-line.js';
import { logNotes, output, terminalWidth } from '../shared/output.js';

interface WebhookOptions extends GlobalOptions {
  readonly listen?: string;
  /** `json` counts as soon as it is parsed. */
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
    return serve(temporal, listeners, options.taskQueue, stopped);
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
  taskQueue: string | undefined,
  until: Promise<unknown>,
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

type Address = WebhookSettings['listen'];
type WebhookConnection = ConnectionSettings & { readonly webhook: WebhookSettings };

/** An address and the connections that share it. */
interface Listener {
  readonly listen: Address;
  readonly connections: readonly WebhookConnection[];
}

/** The connections that one receiver serves. @throws ConfigurationError if there is none */
function webhookConnections(settings: Settings, names: readonly string[] = []): readonly WebhookConnection[] {
  const chosen = selectConnections(settings, { connections: names });
  const served = chosen.filter((connection): connection is WebhookConnection => connection.webhook !== null);
  if (served.length > 0) return served;
  throw new ConfigurationError(
    names.length === 0
      ? `${settings.source}: no connection has a webhook section`
      : `${settings.source}: connection ${names.join(', ')} has no webhook section`,
    { remedy: 'Add one. `webhook: {}` accepts notices signed with HMAC-SHA256 on 127.0.0.1:8080.' },
  );
}

/**
 * The addresses to listen on, each with its connections.
 *
 * @param text one address for all connections
 * @throws UsageError if the address is invalid, or if other machines can reach it and notices are not signed
 */
function listenersFor(served: readonly WebhookConnection[], text: string | undefined): readonly Listener[] {
  if (text === undefined) {
    const sharing = groupBy(served, ({ webhook: { listen } }) => `${listen.host} ${listen.port}`);
    return [...sharing.values()].map((connections) => {
      return { listen: connections[0]!.webhook.listen, connections };
    });
  }
  const listen = parsed('--listen', text, readListen);
  const unsigned = served.find(({ webhook }) => webhook.signature === null);
  if (unsigned !== undefined && !isLoopbackAddress(listen.host)) {
    throw new UsageError(
      `--listen ${text} is reachable from other machines, but notices of ${unsigned.name} are not signed; listen on 127.0.0.1, or configure a signature`,
    );
  }
  return [{ listen, connections: served }];
}
