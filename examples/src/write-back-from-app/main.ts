/**
 * Writes a file of time entries back: `node dist/write-back-from-app/main.js november.csv`. Running it again with the same
 * file continues an interrupted batch, and writes nothing twice.
 */
import {
  connectTemporal,
  followWriteBack,
  InputError,
  loadSettings,
  selectConnection,
  stageWriteBack,
  startWriteBack,
} from 'temporal-worktrack';
import { taskQueue, worktrackConnection } from '../embed-plugin/connect.js';

const [file = 'november.csv'] = process.argv.slice(2);
const settings = loadSettings({ env: process.env, cwd: process.cwd() });
const connection = selectConnection(settings, worktrackConnection);

const temporal = await connectTemporal();
try {
  // Checks the whole file, and copies it into the lake.
  const input = await stageWriteBack(connection, { resource: 'time-entries', file });
  const { workflowId } = await startWriteBack(temporal, input, { taskQueue });
  const { outcome, counts, results } = await followWriteBack(temporal, workflowId);
  console.log(JSON.stringify({ outcome, counts, receipts: results }));
  process.exitCode = outcome === 'written' ? 0 : 1;
} catch (error) {
  if (!(error instanceof InputError)) throw error;
  // The file is not valid, and nothing was sent. The message gives line and column.
  console.error(error.message);
  process.exitCode = 2;
} finally {
  await temporal.close();
}
