/** Installs, starts and stops real servers for the demo, `export --local` and the tests. */

export { findExecutable, pathFolders } from './commands/executables.js';
export { runCommand } from './commands/run-command.js';
export { ServerEnvironmentError } from './environment-error.js';
export { cacheRoot, temporaryFolder } from './install/cache.js';
export { ServerInstallError } from './install/install-error.js';
export { serverSpec } from './install/kinds.js';
export { resolveServer } from './install/resolve.js';
export { ensureBucket, type S3Access, s3ClientConfig } from './start/s3-access.js';
export { ServerStartError } from './start/start-error.js';
export { startTemporalDevServer, type TemporalDevServer } from './start/temporal-dev-server.js';
export { startVersitygw } from './start/versitygw.js';
