/** The receiver of change notices (docs/explanation/how-it-works.md#components). */
export {
  createWebhookHandler,
  type SendNotice,
  type WebhookHandler,
  type WebhookHandlerOptions,
} from './handler.js';
export type { WebhookLog } from './log.js';
export { startWebhookServer, type WebhookServer, type WebhookServerOptions } from './server.js';
