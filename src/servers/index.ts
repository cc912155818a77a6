/** Installs, starts and stops real servers for the demo, `export --local` and the tests. */

export { ServerEnvironmentError, ServerInstallError, ServerStartError } from './errors.js';
export { temporaryFolder } from './install/cache.js';
export { serverSpec } from './install/known-servers.js';
export { resolveServer } from './install/resolve.js';
export { startTemporalDevServer, type TemporalDevServer } from './start/temporal-dev-server.js';
export { ensureBucket, type S3Access, s3ClientConfig, startVersitygw } from './start/versitygw.js';
