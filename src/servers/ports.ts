import { createServer } from 'node:net';

/** All servers listen on loopback only. */
export const loopback = '127.0.0.1';

/** Listens on a port of loopback for a moment; 0 lets the kernel choose. Rejects with EADDRINUSE when it is taken. */
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

/** A port of loopback that is free now; another process may take it before it is used, so callers try again. */
export function freePort(): Promise<number> {
  return tryPort(0);
}

/** Whether a port of loopback can be listened on now. Throws on other causes than its being taken. */
export async function isPortFree(port: number): Promise<boolean> {
  try {
    await tryPort(port);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
}
