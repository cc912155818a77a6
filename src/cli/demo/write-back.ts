import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { WriteBackResult } from '../../core/write-back-contract.js';
import { folderOf, pointerKey } from '../../lake/layout.js';
import { decodePointer } from '../../lake/pointer.js';
import { followWriteBack } from '../../temporal/follow-write-back.js';
import { stageWriteBack } from '../../temporal/stage-write-back.js';
import { startWriteBack } from '../../temporal/start-write-back.js';
import { output } from '../output.js';
import { counted } from '../text.js';
import { resultLines, troubleLines } from '../write-back/report.js';
import type { DemoServers } from './servers.js';

const ROWS = 12;

/** Writes a small file of time entries back, while the service loses an answer, and reads it back into the lake. */
export async function writeBackDemo(servers: DemoServers, folder: string): Promise<WriteBackResult> {
  const { simulator, local, connection, taskQueue, lakeFolder } = servers;
  const file = join(folder, 'time-entries.csv');
  await writeFile(file, demoCsv(simulator.admin.now()));
  // One record is made and its answer lost: it must not be made twice.
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
  for (const line of troubleLines(result)) output.note(line);
  const written = simulator.admin
    .records('time-entries')
    .filter((text) => text.includes('Written back by the demo')).length;
  output.out(`  The service lost an answer on the way; it has ${written} records of these rows, each once.`);
  const { rows, snapshot } = decodePointer(await readFile(join(lakeFolder, pointerKey('time-entries'))));
  output.out(`  The lake has them too: ${counted(rows, 'row')} of time-entries in`);
  output.out(`  ${join(lakeFolder, folderOf(snapshot))}`);
  return result;
}

function demoCsv(now: number): string {
  const rows = Array.from({ length: ROWS }, (_, n) => {
    const start = new Date(now - (n + 1) * 3_600_000).toISOString();
    return `"Written back by the demo, no. ${n + 1}",${start},${900 * (1 + (n % 4))},${n % 3 === 0}\n`;
  });
  return `description,startedAt,durationSeconds:integer,billable:boolean\n${rows.join('')}`;
}
