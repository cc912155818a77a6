import { ConfigurationError } from '../core/configuration-error.js';
import type { TemporalClient } from '../temporal/connect.js';
import { createNoticeSender, pingTemporal } from '../temporal/notices.js';
import { createWebhookHandler, startWebhookServer, type WebhookServer } from '../webhook/index.js';
import { readSettings, withTemporal } from './context.js';
import { EXIT, type ExitCode } from './exit-code.js';
import type { GlobalOptions } from './options.js';
import { lastWords, output } from './output.js';
import { type Address, type Place, placesOf, type Served, servedBy } from './webhook-places.js';

export interface WebhookOptions extends GlobalOptions {
  readonly listen?: string;
}

/** `worktrack webhook`: receives change notices until SIGTERM or Ctrl-C; what is in flight is finished. */
export async function runWebhook(options: WebhookOptions): Promise<ExitCode> {
  const places = placesOf(servedBy(readSettings(options), options.connection), options.listen);
  const stop = listenForStop();
  let isConnected = false;
  const serving = withTemporal(options, async (temporal) => {
    isConnected = true;
    return serve(temporal, places, { ...options, until: stop.told });
  });
  try {
    await Promise.race([serving, stop.told]);
    // Told to stop before there was anything to finish.
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
  places: readonly Place[],
  { taskQueue, until }: Pick<GlobalOptions, 'taskQueue'> & { readonly until: Promise<void> },
): Promise<ExitCode> {
  const servers: WebhookServer[] = [];
  try {
    for (const { listen, connections } of places) {
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
    const why = code === 'EADDRINUSE' ? 'somebody else listens there' : (code ?? String(error));
    throw new ConfigurationError(`cannot listen on ${listen.host}, port ${listen.port}: ${why}`, {
      remedy: 'Change `webhook.listen`, or give another address with --listen.',
      cause: error,
    });
  }
}

function announce({ url }: WebhookServer, connections: readonly Served[]): void {
  output.note(`Receiver on ${url}: GET /healthz`);
  for (const { name, webhook } of connections) {
    const { signature } = webhook;
    const proof =
      signature === null
        ? 'not signed, so anybody on this machine can send notices'
        : `${signature.algorithm} in ${signature.header}`;
    output.note(`  POST /hooks/${name} (${proof})`);
  }
}

function listenForStop(): { readonly told: Promise<void>; release(): void } {
  const signals = ['SIGTERM', 'SIGINT'] as const;
  let tell = (): void => {};
  let isStopping = false;
  const told = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const onSignal = (signal: NodeJS.Signals): void => {
    if (isStopping) {
      lastWords(`${signal} again: ending at once; senders of what was in flight get no answer.`);
      process.exit(EXIT.failed);
    }
    isStopping = true;
    output.note(
      `${signal}: taking no more notices; those in flight are answered. A second signal ends at once.`,
    );
    tell();
  };
  for (const signal of signals) process.on(signal, onSignal);
  return {
    told,
    release() {
      for (const signal of signals) process.off(signal, onSignal);
    },
  };
}
