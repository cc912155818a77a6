import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WriteBackResult } from '../../core/contract/write-back.js';
import { HOUR_MS } from '../../core/duration.js';
import { folderOf, pointerKey } from '../../lake/published/layout.js';
import { decodePointer } from '../../lake/published/pointer.js';
import { startWriteBack } from '../../temporal/client/start-write-back.js';
import { followWriteBack } from '../../temporal/follow/follow-write-back.js';
import { stageWriteBack } from '../../write-back/stage.js';
import { output } from '../shared/output.js';
import { counted } from '../shared/text.js';
import { diagnosticLines, resultLines } from '../write-back/result-lines.js';
import type { DemoServers } from './servers.js';

const ROWS = 12;

/** Writes a small file of time entries back while one response is lost, and reads the new records into the lake. */
export async function writeBackDemo(servers: DemoServers, folder: string): Promise<WriteBackResult> {
  const { simulator, local, connection, taskQueue, lakeFolder } = servers;
  const file = join(folder, 'time-entries.csv');
  await writeFile(file, demoCsv(simulator.admin.now()));
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
  output.out(`  ${file}`);
  for (const line of resultLines(result, lakeFolder)) output.out(`  ${line}`);
  for (const line of diagnosticLines(result)) output.note(line);
  const written = simulator.admin
    .records('time-entries')
    .filter((text) => text.includes('Written back by the demo')).length;
  output.out(`  One response was lost. The service has ${written} of these records, each exactly once.`);
  const { rows, snapshot } = decodePointer(await readFile(join(lakeFolder, pointerKey('time-entries'))));
  output.out(`  The lake has them too: ${counted(rows, 'row')} of time-entries in`);
  output.out(`  ${join(lakeFolder, folderOf(snapshot))}`);
  return result;
}

function demoCsv(now: number): string {
  const rows = Array.from({ length: ROWS }, (_, n) => {
    const start = new Date(now - (n + 1) * HOUR_MS).toISOString();
    return `"Written back by the demo, no. ${n + 1}",${start},${900 * (1 + (n % 4))},${n % 3 === 0}\n`;
  });
  return `description,startedAt,durationSeconds:integer,billable:boolean\n${rows.join('')}`;
}
