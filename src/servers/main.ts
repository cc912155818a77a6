import { errorMessage } from '../core/errors.js';
import { serverKinds } from './install/known-servers.js';
import { resolveServer } from './install/resolve.js';

/**
 * `node dist/src/servers/main.js [temporal] [versitygw]`: finds or installs the servers (default: all), so that tests and
 * the demo do not wait for a download. Exit code 0 if all are available, 1 if one is not (prints what to
 * do), 2 for an unknown name.
 */
async function main(args: readonly string[]): Promise<number> {
  const named = args.flatMap((arg) => serverKinds.find((kind) => kind === arg) ?? []);
  const unknown = args.filter((arg) => !named.some((kind) => kind === arg));
  if (unknown.length > 0) {
    process.stderr.write(`Unknown server: ${unknown.join(', ')}. Servers: ${serverKinds.join(', ')}.\n`);
    return 2;
  }
  let code = 0;
  for (const kind of args.length === 0 ? serverKinds : named) {
    try {
      // One at a time, because a Go build uses all cores.
      await resolveServer(kind);
    } catch (error) {
      process.stderr.write(`${errorMessage(error)}\n`);
      code = 1;
    }
  }
  return code;
}

process.exitCode = await main(process.argv.slice(2));
