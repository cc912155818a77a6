/** Installs, starts and stops real servers for the demo, `export --local` and the tests. */

export { ServerEnvironmentError } from './environment-error.js';
export { cacheRoot } from './install/cache.js';
export { type FailedAttempt, ServerInstallError } from './install/install-error.js';
export { isServerKind, type ServerKind, type ServerSpec, serverKinds, serverSpec } from './install/kinds.js';
export {
  type ResolvedServer,
  type ResolveOptions,
  resolveServer,
  type ServerSource,
} from './install/resolve.js';
export { freePort } from './start/ports.js';
export { ensureBucket, type S3Access, s3ClientConfig } from './start/s3-access.js';
export { ServerStartError } from './start/start-error.js';
export {
  startTemporalDevServer,
  type TemporalDevServer,
  type TemporalDevServerOptions,
} from './start/temporal-dev-server.js';
export { startVersitygw, type Versitygw, type VersitygwOptions } from './start/versitygw.js';
