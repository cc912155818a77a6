/** Real servers for the demo, `export --local` and the tests: having them, starting them, stopping them. */
export { cacheRoot } from './cache.js';
export { ServerEnvironmentError } from './environment-error.js';
export { type FailedAttempt, ServerInstallError } from './install-error.js';
export { isServerKind, type ServerKind, type ServerSpec, serverKinds, serverSpec } from './kinds.js';
export { freePort } from './ports.js';
export { type ResolvedServer, type ResolveOptions, resolveServer, type ServerSource } from './resolve.js';
export { ensureBucket, type S3Access, s3ClientConfig } from './s3-access.js';
export { ServerStartError } from './start-error.js';
export {
  startTemporalDevServer,
  type TemporalDevServer,
  type TemporalDevServerOptions,
} from './temporal-dev-server.js';
export {
  startTimeSkippingServer,
  type TimeSkippingServer,
  type TimeSkippingServerOptions,
  timeSkippingOptions,
} from './time-skipping-server.js';
export { startVersitygw, type Versitygw, type VersitygwOptions } from './versitygw.js';
