import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isPortFree } from '../../src/servers/start/start-server.js';

/**
 * A free loopback port that stays free until a test uses it. It is below the ports that Linux gives to connections and
 * to servers that take any (32768 and above), so nothing else takes it by chance; and no other test process gets it,
 * because this one holds the UDP port of the same number until it ends.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    if ((await isPortFree(port)) && (await hold(port))) return port;
  }
}

/** Takes the UDP port for this process; false when another call has it. */
async function hold(port: number): Promise<boolean> {
  const claim = createSocket('udp4').unref();
  claim.bind({ port, address: '127.0.0.1', exclusive: true });
  try {
    await once(claim, 'listening');
    return true;
  } catch {
    claim.close();
    return false;
  }
}
