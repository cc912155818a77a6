import { once } from 'node:events';
import { ConfigurationError } from '../../core/configuration-error.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { createNoticeSender, pingTemporal } from '../../temporal/client/notices.js';
import { createWebhookHandler, startWebhookServer, type WebhookServer } from '../../webhook/index.js';
import { withTemporal } from '../shared/context.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { stopOnSignal } from '../shared/interrupt.js';
import type { GlobalOptions } from '../shared/options.js';
import { output } from '../shared/output.js';
import { readSettings } from '../shared/settings.js';
import {
  type Address,
  type Listener,
  listenersFor,
  type WebhookConnection,
  webhookConnections,
} from './webhook-listeners.js';

export interface WebhookOptions extends GlobalOptions {
  readonly listen?: string;
}

/** `worktrack webhook`: receives change notices until SIGTERM or Ctrl-C, then finishes those in flight. */
export async function runWebhook(options: WebhookOptions): Promise<ExitCode> {
  const listeners = listenersFor(
    webhookConnections(readSettings(options), options.connections),
    options.listen,
  );
  const stop = stopOnSignal(
    'accepting no more notices and finishing those in flight.',
    'Senders of notices in flight get no response.',
  );
  const stopped = once(stop.signal, 'abort');
  let isConnected = false;
  const serving = withTemporal(options, async (temporal) => {
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
  try {
    for (const { listen, connections } of listeners) {
      const handler = createWebhookHandler({
        connections,
        send: createNoticeSender(temporal, { taskQueue }),
        ready: () => pingTemporal(temporal),
        log: { info: output.note, warn: output.note },
      });
      await handler.checkSecrets();
      const server = await open(listen, handler.handle);
      servers.push(server);
      announce(server, connections);
    }
    await until;
  } finally {
    await Promise.all(servers.map((server) => server.close()));
  }
  return EXIT.done;
}

async function open(listen: Address, handle: Parameters<typeof startWebhookServer>[0]['handle']) {
  try {
    return await startWebhookServer({ handle, listen });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'another process uses this port' : (code ?? String(error));
    throw new ConfigurationError(`cannot listen on ${listen.host}, port ${listen.port}: ${why}`, {
      remedy: 'Change `webhook.listen`, or choose another address with --listen.',
      cause: error,
    });
  }
}

function announce({ url }: WebhookServer, connections: readonly WebhookConnection[]): void {
  output.note(`Receiver on ${url}: GET /healthz`);
  for (const { name, webhook } of connections) {
    const { signature } = webhook;
    const proof =
      signature === null
        ? 'not signed: any process on this machine can send notices'
        : `${signature.algorithm} in ${signature.header}`;
    output.note(`  POST /hooks/${name} (${proof})`);
  }
}
