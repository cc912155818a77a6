import type { TemporalClient } from '../../temporal/client/connect.js';
import { hasWorker } from '../../temporal/status/pollers.js';
import { workerLine } from '../progress/lines.js';

/** Time without an answer after which a missing worker is reported, in milliseconds. */
const SILENT_MS = 10_000;

interface WorkerWatch {
  /** Records that a worker has answered. */
  answered(): void;
  close(): void;
}

/** Reports after ten seconds without an answer that no worker polls, and later that one does. */
export function watchForWorker(
  temporal: TemporalClient,
  taskQueue: string,
  note: (line: string) => void,
): WorkerWatch {
  let answeredAt = performance.now();
  let missing = false;
  const look = async (): Promise<void> => {
    if (performance.now() - answeredAt < SILENT_MS - 100) return;
    const polled = await isPolled(temporal, taskQueue);
    const line = workerLine({ worker: 'absent', taskQueue });
    if (!polled && !missing && line !== null) note(line);
    if (polled && missing) note('A worker is polling now.');
    missing = !polled;
  };
  const timer = setInterval(() => void look(), SILENT_MS);
  timer.unref();
  return {
    answered() {
      answeredAt = performance.now();
    },
    close: () => clearInterval(timer),
  };
}

/** Whether a worker polls the task queue; also if the server does not answer, which other calls report. */
async function isPolled(temporal: TemporalClient, taskQueue: string): Promise<boolean> {
  return hasWorker(temporal, taskQueue).catch(() => true);
}
