import type { ChildProcess } from 'node:child_process';

const fatalSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

const children = new Set<ChildProcess>();

function killAll(): void {
  for (const child of children) child.kill('SIGKILL');
}

/**
 * A signal listener disables the default action, which ends the process. If there is no other listener, this one removes
 * itself and raises the signal again. If the host process has its own handler, that handler decides when to exit, and the
 * `exit` event kills the children.
 */
function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  killAll();
  unlisten();
  process.kill(process.pid, signal);
}

function listen(): void {
  process.on('exit', killAll);
  for (const signal of fatalSignals) process.on(signal, onSignal);
}

function unlisten(): void {
  process.off('exit', killAll);
  for (const signal of fatalSignals) process.off(signal, onSignal);
}

/**
 * Kills a child when this process exits or receives a fatal signal. The returned function releases the child, which also
 * happens when the child ends. The process has listeners only while there are children.
 */
export function killWithHost(child: ChildProcess): () => void {
  if (children.size === 0) listen();
  children.add(child);
  const release = () => {
    if (children.delete(child) && children.size === 0) unlisten();
  };
  child.once('exit', release);
  child.once('error', release);
  return release;
}
