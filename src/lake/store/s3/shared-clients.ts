import { createHash } from 'node:crypto';
import type { LakeSettings } from '../../../core/settings.js';
import { createS3Clients, type S3Clients } from './client.js';
import { allFeatures, type StoreFeatures } from './features.js';

interface Shared {
  readonly clients: S3Clients;
  /** Stores that use the clients now. */
  users: number;
}

const open = new Map<string, Shared>();
/** What is known about stores, even while no client is open: a worker closes the clients of idle connections. */
const known = new Map<string, StoreFeatures>();

/**
 * Clients for a lake. Stores that are open at the same time and differ only in their bucket or prefix share them: a worker
 * with hundreds of lakes in one bucket then asks for credentials once, and connects once. `close` ends the share of one
 * store, and the last one to close closes the sockets.
 */
export function shareS3Clients(lake: LakeSettings): S3Clients {
  const key = keyOf(lake);
  const features = known.get(key) ?? allFeatures();
  known.set(key, features);
  const shared = open.get(key) ?? { clients: createS3Clients(lake, features), users: 0 };
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

/** The SDK reads settings and credentials from the environment, which a program may change between two stores. */
function keyOf({ url: _, ...settings }: LakeSettings): string {
  const environment = Object.entries(process.env).filter(([name]) => name.startsWith('AWS_'));
  // A hash, because the environment contains secrets.
  return createHash('sha256')
    .update(JSON.stringify([settings, environment.sort()]))
    .digest('hex');
}
