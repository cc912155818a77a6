import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WriteBackResult } from '../../core/contract/write-back.js';
import { HOUR_MS } from '../../core/duration.js';
import { startWriteBack } from '../../temporal/client/start-write-back.js';
import { followWriteBack } from '../../temporal/follow/follow-write-back.js';
import { stageWriteBack } from '../../write-back/stage.js';
import { output } from '../shared/output.js';
import { counted } from '../shared/text.js';
import { diagnosticLines } from '../write-back/result-lines.js';
import type { DemoServers } from './servers.js';

const ROWS = 12;
/** Marks the records of the file in the service. */
const SOURCE = '"source":"time-sheet"';

/** Writes a small file of time entries back while one response is lost, and reads the new records into the lake. */
export async function writeBackDemo(servers: DemoServers, folder: string): Promise<WriteBackResult> {
  const { simulator, local, connection, taskQueue } = servers;
  const file = join(folder, 'time-entries.csv');
  const [project] = simulator.admin.records('projects', 'listed');
  const projectId = project === undefined ? '' : (JSON.parse(project) as { id: string }).id;
  await writeFile(file, demoCsv(simulator.admin.now(), projectId));
  // The service creates one record and the response is lost. Write-back must not create it twice.
  simulator.admin.faults.add({
    match: { method: 'POST', nth: 5 },
    fault: { kind: 'lose-response' },
  });
  const input = await stageWriteBack(connection, { resource: 'time-entries', file });
  const { workflowId } = await startWriteBack(local.temporal, input, { taskQueue });
  const result = await Promise.race([
    followWriteBack(local.temporal, workflowId, { everyMs: 250 }),
    local.failed,
  ]);
  simulator.admin.faults.clear();
  for (const line of diagnosticLines(result)) output.note(line);
  const records = simulator.admin.records('time-entries').filter((text) => text.includes(SOURCE)).length;
  output.out(
    `4. Write-back sends ${counted(result.rows, 'row')}; one response is lost; the service has ${counted(records, 'record')}`,
  );
  return result;
}

function demoCsv(now: number, projectId: string): string {
  const rows = Array.from({ length: ROWS }, (_, n) => {
    const start = new Date(now - (n + 1) * HOUR_MS).toISOString();
    return `Time sheet,${projectId},${start},${900 * (1 + (n % 4))},${n % 3 === 0},time-sheet\n`;
  });
  return `description,projectId,startedAt,durationSeconds:integer,billable:boolean,source\n${rows.join('')}`;
}
