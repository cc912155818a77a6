import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { IS_LONG } from '../../support/seeds.js';

const ROWS = IS_LONG ? 400_000 : 200_000;
/** Far less than the rows would need: held as objects they take some 750 bytes each. */
const HEAP_MIB = IS_LONG ? 48 : 32;
/** Keys; the other rows have the key of an earlier one. */
const KEYS = ROWS - 10_000;

const SCRIPT = `
const { BatchPlanner } = await import(process.argv[1] + 'planner.js');
const { readInputRows } = await import(process.argv[1] + 'input-rows.js');
const types = { published: [], fixed: {}, text: ['source', 'sourceKey'] };
async function* chunks() {
  yield Buffer.from('source,sourceKey,title,startsAt\\n');
  for (let n = 0; n < ${ROWS}; n += 1000) {
    const rows = Array.from({ length: 1000 }, (_, i) => \`cal,key-\${(n + i) % ${KEYS}},"title \${n + i}, long enough to count for something",2026-11-20T08:00:00Z\\n\`);
    yield Buffer.from(rows.join(''));
  }
}
const planner = new BatchPlanner({ connection: 'c', resource: 'calendar-entries', batchId: 'b', keyColumn: null, lastWins: true });
for await (const rows of readInputRows(chunks(), { format: 'csv', types })) for (const row of rows) planner.survey(row);
const outcomes = { sent: 0, superseded: 0 };
for await (const rows of readInputRows(chunks(), { format: 'csv', types })) {
  for (const row of rows) outcomes[planner.plan(row).verdict?.outcome ?? 'sent']++;
}
console.log(JSON.stringify(outcomes));
`;

describe('planning a large batch', () => {
  it('needs a few bytes of memory per row, and keeps no row', async () => {
    const folder = new URL('../../../dist/src/write-back/', import.meta.url).href;
    const child = spawn(
      process.execPath,
      [`--max-old-space-size=${HEAP_MIB}`, '--input-type=module', '-e', SCRIPT, folder],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (text) => {
      stdout += text;
    });
    child.stderr.on('data', (text) => {
      stderr += text;
    });
    const [code] = await once(child, 'close');
    expect(code, stderr.slice(0, 500)).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ sent: KEYS, superseded: 10_000 });
  });
});
