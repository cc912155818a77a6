import type { LakeSettings } from '../../../core/settings.js';
import { createS3Clients, type S3Clients } from './client.js';

interface Shared {
  readonly clients: S3Clients;
  /** Stores that use the clients now. */
  users: number;
}

/** What the SDK reads from the environment once per client. A program may change it between two stores. */
const ENVIRONMENT = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_PROFILE',
  'AWS_REGION',
  'AWS_DEFAULT_REGION',
];

const open = new Map<string, Shared>();

/**
 * Clients for a lake. Stores that are open at the same time and differ only in their bucket or prefix share them: a worker
 * with hundreds of lakes in one bucket then asks for credentials once, and connects once. `close` ends the share of one
 * store, and the last one to close closes the sockets.
 */
export function shareS3Clients(lake: LakeSettings): S3Clients {
  const key = keyOf(lake);
  const shared = open.get(key) ?? { clients: createS3Clients(lake), users: 0 };
  open.set(key, shared);
  shared.users++;
  let isClosed = false;
  return {
    ...shared.clients,
    close() {
      if (isClosed) return;
      isClosed = true;
      shared.users--;
      if (shared.users > 0) return;
      open.delete(key);
      shared.clients.close();
    },
  };
}

function keyOf({ url: _, ...settings }: LakeSettings): string {
  return JSON.stringify([settings, ENVIRONMENT.map((name) => process.env[name])]);
}
