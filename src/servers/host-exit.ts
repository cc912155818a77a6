import type { ChildProcess } from 'node:child_process';

const fatalSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const children = new Set<ChildProcess>();

function killAll(): void {
  for (const child of children) child.kill('SIGKILL');
}

/**
 * A listener takes away a signal's default, which is to end the process. So where nobody else listens, the signal is
 * raised again without us; where the host has its own handler, it drains first and the `exit` event does the rest.
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
 * Has a child killed when this process ends in any way that it can notice. The returned function lets go of the child;
 * it goes by itself when the child ends. Listeners are on the process only while there are children.
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
