import { createHmac } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import {
  createWebhookHandler,
  type SendNotice,
  startWebhookServer,
  type WebhookHandlerOptions,
  type WebhookServerOptions,
} from '../../../src/webhook/index.js';

export const SECRET = 'wh_marker_5d1c';

export interface Setup {
  /** Lines of the connection's `webhook` section, with an indentation of six spaces. */
  readonly webhook?: string;
  readonly send?: SendNotice;
  readonly handler?: Partial<WebhookHandlerOptions>;
  readonly server?: Partial<WebhookServerOptions>;
}

export function sign(body: string | Buffer): Record<string, string> {
  return { 'X-Webhook-Signature': createHmac('sha256', SECRET).update(body).digest('hex') };
}

/** A receiver for the connection `acme` on a free port, with its signals and its log. */
export async function startReceiver({ webhook = '', send, handler = {}, server = {} }: Setup = {}) {
  process.env.WEBHOOK_UNIT_SECRET = SECRET;
  const signature = webhook.includes('signature:')
    ? ''
    : '      signature: { secret: { env: WEBHOOK_UNIT_SECRET } }\n';
  const { connections } = parseSettings(
    `connections:
  acme:
    baseUrl: https://t.example
    apiKey: { env: KEY }
    lake: { url: s3://lake }
    resources: [projects, tasks]
    webhook:
      listen: 127.0.0.1:0
${signature}${webhook}
  polled: { baseUrl: "https://t.example", apiKey: { env: KEY }, lake: { url: s3://other } }
`,
    'test.yaml',
  );
  const sent: string[] = [];
  const logged: string[] = [];
  const receiver = createWebhookHandler({
    connections,
    send: async (connection, resource, notices) => {
      sent.push(`${connection}/${resource}`);
      await send?.(connection, resource, notices);
    },
    ready: async () => {},
    log: { info: (text) => void logged.push(text), warn: (text) => void logged.push(text) },
    spacingMs: 1,
    ...handler,
  });
  const started = await startWebhookServer({
    handle: receiver.handle,
    listen: connections[0]!.webhook!.listen,
    ...server,
  });
  onTestFinished(() => started.close());
  const post = (body: string | Buffer, headers: Record<string, string> = sign(body), path = '/hooks/acme') =>
    fetch(started.url + path, { method: 'POST', body, headers });
  return { ...receiver, server: started, url: started.url, sent, logged, post };
}
