/** The receiver of change notices (docs/explanation/how-it-works.md#components). */
export {
  createWebhookHandler,
  type SendNotice,
  type WebhookHandler,
  type WebhookHandlerOptions,
} from './handle-request.js';
export { startWebhookServer, type WebhookServer, type WebhookServerOptions } from './http-server.js';
export type { WebhookLog } from './log.js';
