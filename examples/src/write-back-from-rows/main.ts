/**
 * Writes rows of the application back, without a file: `node dist/write-back-from-rows/main.js 3`. Running it again with
 * the same number continues an interrupted batch, and writes nothing twice.
 */
import {
  connectTemporal,
  followWriteBack,
  loadSettings,
  requireWritten,
  selectConnection,
  stageWriteBackRows,
  startWriteBack,
  WorktrackError,
} from 'temporal-worktrack';
import { taskQueue, worktrackConnection } from '../embed-plugin/connect.js';

/** A row of the application. Its fields are those of the request to the service. */
interface TimeEntry {
  readonly description: string;
  readonly startedAt: string;
  readonly durationSeconds: number;
}

const DAY_MS = 86_400_000;

/** Stands for a query of the application's database, which delivers rows one at a time. */
async function* bookedHours(count: number): AsyncGenerator<TimeEntry> {
  for (let day = 1; day <= count; day++) {
    const date = new Date(Date.now() - day * DAY_MS).toISOString().slice(0, 10);
    yield { description: `Support on ${date}`, startedAt: `${date}T09:00:00Z`, durationSeconds: 1800 };
  }
}

const settings = loadSettings({ env: process.env, cwd: process.cwd() });
const connection = selectConnection(settings, worktrackConnection);
const temporal = await connectTemporal();
try {
  const rows = bookedHours(Number(process.argv[2] ?? 3));
  const input = await stageWriteBackRows(connection, { resource: 'time-entries', rows });
  const { workflowId } = await startWriteBack(temporal, input, { taskQueue });
  const { outcome, counts } = requireWritten(await followWriteBack(temporal, workflowId));
  console.log(JSON.stringify({ outcome, counts }));
} catch (error) {
  // A row is not valid (CONFIGURATION), was rejected (WRITE_BACK_INCOMPLETE), and so on.
  if (!(error instanceof WorktrackError)) throw error;
  console.error(error.code, error.describe());
  process.exitCode = error.exitCode;
} finally {
  await temporal.close();
}
