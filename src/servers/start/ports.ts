import { createServer } from 'node:net';

/** All servers listen on loopback only. */
export const loopback = '127.0.0.1';

/** Listens briefly on a loopback port; 0 lets the kernel choose. Rejects with EADDRINUSE if the port is in use. */
function tryPort(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, loopback, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port));
    });
  });
}

/** A free loopback port. Another process may take it before it is used, so callers must retry. */
export function freePort(): Promise<number> {
  return tryPort(0);
}

/** Whether a loopback port is free. @throws any error other than EADDRINUSE */
export async function isPortFree(port: number): Promise<boolean> {
  try {
    await tryPort(port);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
}
