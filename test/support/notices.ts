import { createHmac, randomBytes } from 'node:crypto';
import { type MirrorStatus, noticesWorkflowId } from '../../src/core/contract/index.js';
import { createNoticeSender, pingTemporal } from '../../src/temporal/client/notice-sender.js';
import {
  createWebhookHandler,
  startWebhookServer,
  type WebhookHandlerOptions,
} from '../../src/webhook/index.js';
import { runsIn } from './snapshot.js';
import { type Stack, type StackOptions, startStack } from './stack.js';

/** A secret that no history, log or output may show. */
export const WEBHOOK_SECRET = `wh_marker_${randomBytes(12).toString('hex')}`;

/** `connections.*.webhook` of a stack, signed with `WEBHOOK_SECRET`. */
export const WEBHOOK_YAML = `    webhook:
      listen: 127.0.0.1:0
      signature: { secret: { env: WORKTRACK_WEBHOOK_SECRET } }
`;

export interface NoticeStack extends Stack {
  /** A receiver in this process; ends with the stack. */
  startReceiver(options?: Partial<WebhookHandlerOptions>): Promise<RunningReceiver>;
  mirror(resource: string): Promise<MirrorStatus>;
  /** Names of the runs in the lake, oldest first. */
  runs(resource: string): Promise<string[]>;
  noticesId(resource: string): string;
}

export interface RunningReceiver {
  readonly url: string;
  post(body: string, headers?: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

/** How long a receiver waits after the last notice, for tests whose notices may each lead to a run; milliseconds. */
export const SHORT_QUIET_MS = 300;

/** What the service would send of a change. */
export function signedNotice(body: string): Record<string, string> {
  return { 'X-Webhook-Signature': createHmac('sha256', WEBHOOK_SECRET).update(body).digest('hex') };
}

export function sender(url: string, connection: string): RunningReceiver['post'] {
  return (body, headers = signedNotice(body)) =>
    fetch(`${url}/hooks/${connection}`, { method: 'POST', body, headers });
}

/**
 * A stack whose connection takes change notices.
 *
 * @param sync the `sync` section
 * @param quietMs of the receivers in this process
 */
export async function startNoticeStack(
  options: StackOptions & { readonly sync?: string; readonly quietMs?: number } = {},
): Promise<NoticeStack> {
  process.env.WORKTRACK_WEBHOOK_SECRET = WEBHOOK_SECRET;
  const { sync = '{ minInterval: 0s }', quietMs = SHORT_QUIET_MS, ...rest } = options;
  const stack = await startStack({
    resources: '[projects, tasks]',
    simulator: { awkward: false, counts: { projects: 3, tasks: 30 } },
    ...rest,
    yaml: `    sync: ${sync}\n${WEBHOOK_YAML}${options.yaml ?? ''}`,
  });
  const receivers: RunningReceiver[] = [];
  const noticesId = (resource: string) => noticesWorkflowId(stack.connection, resource);
  return {
    ...stack,
    noticesId,
    async startReceiver(changed = {}) {
      const { handle } = createWebhookHandler({
        connections: stack.settings.connections,
        send: createNoticeSender(stack.temporal, { taskQueue: stack.taskQueue, timeoutMs: 60_000, quietMs }),
        ready: () => pingTemporal(stack.temporal),
        log: { info() {}, warn() {} },
        waitMs: 60_000,
        ...changed,
      });
      const server = await startWebhookServer({ handle, listen: { host: '127.0.0.1', port: 0 } });
      const receiver = { ...server, post: sender(server.url, stack.connection) };
      receivers.push(receiver);
      return receiver;
    },
    mirror: (resource) =>
      stack.temporal.client.workflow.getHandle(stack.mirrorId(resource)).query<MirrorStatus>('status'),
    runs: async (resource) => (await runsIn(stack.store, resource)).sort(),
    async stop() {
      for (const receiver of receivers) await receiver.close();
      for (const { name } of stack.settings.connections[0]!.resources) {
        await stack.temporal.client.workflow
          .getHandle(noticesId(name))
          .terminate('end of the test')
          .catch(() => {});
      }
      await stack.stop();
    },
  };
}
