import { isServerKind, type ServerKind, serverKinds } from './kinds.js';
import { resolveServer } from './resolve.js';

/**
 * `node dist/src/servers/main.js [temporal] [test-server] [versitygw]`: finds or installs the servers, all by default,
 * so that no test or demo counts the time of a download. Exit code 0 when all are there, 1 when one is not (with its
 * remedies), 2 for an unknown name.
 */
async function main(words: readonly string[]): Promise<number> {
  const unknown = words.filter((word) => !isServerKind(word));
  if (unknown.length > 0) {
    process.stderr.write(`Unknown server: ${unknown.join(', ')}. Servers: ${serverKinds.join(', ')}.\n`);
    return 2;
  }
  const kinds: readonly ServerKind[] = words.length === 0 ? serverKinds : words.filter(isServerKind);
  let code = 0;
  for (const kind of kinds) {
    try {
      // One after the other: a Go build takes every core that there is.
      await resolveServer(kind);
    } catch (error) {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      code = 1;
    }
  }
  return code;
}

process.exitCode = await main(process.argv.slice(2));
