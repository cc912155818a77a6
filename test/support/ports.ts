import { randomInt } from 'node:crypto';
import { isPortFree } from '../../src/servers/start/start-server.js';

/**
 * A free loopback port that stays free until a test uses it. It is below the ports that Linux gives to connections and
 * to servers that take any (32768 and above), so nothing else takes it by chance.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    if (await isPortFree(port)) return port;
  }
}
