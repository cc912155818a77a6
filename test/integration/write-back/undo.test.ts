import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readFields } from '../../../src/simulator/data/raw-json.js';
import { startWriteBack } from '../../../src/temporal/client/start.js';
import { followWriteBack } from '../../../src/temporal/follow/follow-write-back.js';
import { writeExpected } from '../../../src/write-back/expected-states.js';
import { withTemporaryFile } from '../../../src/write-back/input-source.js';
import { stageWriteBack } from '../../../src/write-back/stage-input.js';
import { BatchUndo, snapshotForUndo, undoBatchId } from '../../../src/write-back/undo-batch.js';
import { runCommand } from '../../support/processes.js';
import { type Random, seededRandom } from '../../support/random.js';
import { drawn, longOnly } from '../../support/seeds.js';
import type { Stack } from '../../support/stack.js';
import {
  fileIn,
  startWriteBackStack,
  stopWriteBackStack,
  timeEntriesCsv,
  writeBack,
  writesSeen,
} from '../../support/write-back.js';

const START = '2026-11-20T08:00:00Z';
const RESOURCE =
  '{ name: calendar-entries, key: [source, sourceKey], window: 36500d, windowField: startsAt, ' +
  'columns: { mask: { secret: redact }, exclude: [private] } }';

/** JSON texts by field. */
type Fields = Readonly<Record<string, string>>;

/** JSON texts of values that a record can have; `undefined`: it does not have the field. */
const VALUES: Readonly<Record<string, readonly (string | undefined)[]>> = {
  title: ['"Plan"', '"=1+1"', '"a\\nb \\\\ \\"c\\""', '""', '"Überblick 🎉"'],
  minutes: ['12.50', '12.5', '9007199254740993', '0', '-1e3', 'null', undefined],
  busy: ['true', 'false', 'null'],
  people: ['[]', '["a",{"b":null}]', '{"y":1,"x":[1.0]}', undefined],
  note: ['"x"', 'null', undefined],
  secret: ['"s1"', '"s2"'],
  private: ['"p1"', '"p2"'],
  seen: ['1', '2'],
};
/** Fields whose values the lake does not have, or that the service changes. */
const NOT_RESTORED = ['secret', 'private', 'seen'];

function randomFields(random: Random, share: number): Fields {
  const chosen = Object.entries(VALUES).filter(() => random.share() < share);
  const found = chosen.map(([name, values]) => [name, random.pick(values)] as const);
  return Object.fromEntries(found.filter((one): one is [string, string] => one[1] !== undefined));
}

function jsonOf(fields: Fields): string {
  return `{${Object.entries(fields)
    .map(([name, json]) => `${JSON.stringify(name)}:${json}`)
    .join(',')}}`;
}

describe('`worktrack write-back undo`', () => {
  let stack: Stack;
  const run = (...args: string[]) =>
    runCommand(stack, [...args, '--config', stack.configFile, '--task-queue', stack.taskQueue]);
  const undo = async (batchId: string, ...options: string[]) => {
    const undone = await run('write-back', 'undo', batchId, '--yes', '--json', ...options);
    expect(undone.code, undone.stderr).toBe(0);
    return JSON.parse(undone.stdout) as Undone;
  };

  beforeAll(async () => {
    stack = await startWriteBackStack({
      resources: `[${RESOURCE}, { name: time-entries, window: 36500d, windowField: startedAt }]`,
      yaml: '    writeBack: { calendar-entries: { ignore: [seen] } }\n',
    });
    await stack.startWorker();
  });
  afterAll(() => stopWriteBackStack(stack));

  /** The service's records by `source` and `sourceKey`, without the fields that it sets itself. */
  function records(source: string): Map<string, Fields> {
    const all = stack.simulator.admin.records('calendar-entries').map((text) => {
      const { id, createdAt, updatedAt, ...fields } = Object.fromEntries(readFields(text));
      return [`${fields.source}${fields.sourceKey}`, fields] as const;
    });
    return new Map(all.filter(([, fields]) => fields.source === `"${source}"`));
  }

  function idOf(key: string): string {
    const all = stack.simulator.admin
      .records('calendar-entries')
      .map((text) => JSON.parse(text) as Record<string, string>);
    return String(all.find((one) => JSON.stringify(one.source) + JSON.stringify(one.sourceKey) === key)!.id);
  }

  function create(source: string, sourceKey: string, fields: Fields): void {
    const key = { source: `"${source}"`, sourceKey: `"${sourceKey}"`, startsAt: `"${START}"` };
    stack.simulator.admin.create('calendar-entries', jsonOf({ ...key, ...fields }));
  }

  /** Writes rows of `source` to the service; returns the batch id. */
  async function write(
    source: string,
    rows: readonly (readonly [string, Fields])[],
    name: string,
  ): Promise<string> {
    const lines = rows.map(
      ([key, fields]) => `${jsonOf({ source: `"${source}"`, sourceKey: `"${key}"`, ...fields })}\n`,
    );
    const file = await fileIn(stack, lines.join(''), 'ndjson');
    const result = await writeBack(stack, { resource: 'calendar-entries', file, batchId: name }, {});
    expect(result).toMatchObject({ outcome: 'written', error: null, warnings: [] });
    return result.batchId;
  }

  it.each(drawn([1, 3], 1))(
    'restores each field of random records that nobody has changed since (%i)',
    async (seed) => {
      const random = seededRandom(seed);
      const source = `r${seed}`;
      const keys = Array.from({ length: 40 }, (_, n) => `k${n}`);
      const old = keys.slice(0, 30);
      for (const key of old) create(source, key, randomFields(random, 0.8));
      const before = records(source);
      const rows = keys.map((key) => {
        const { startsAt = `"${START}"`, ...more }: Fields = randomFields(random, 0.5);
        return [
          key,
          { ...(before.has(nameOf(source, key)) && random.share() < 0.5 ? {} : { startsAt }), ...more },
        ] as const;
      });
      const batch = await write(source, rows, `batch-${seed}`);
      // People, and a later batch, change some of the records.
      const edited = new Set<string>();
      const edit = (key: string, fields: Fields): void => {
        const now = records(source).get(nameOf(source, key))!;
        const isEdit = Object.entries(fields).some(
          ([field, json]) => !NOT_RESTORED.includes(field) && !isSame(now[field] ?? 'null', json),
        );
        if (isEdit) edited.add(key);
      };
      for (const key of old.slice(0, 6)) {
        const fields = randomFields(random, 0.3);
        edit(key, fields);
        stack.simulator.admin.update('calendar-entries', idOf(nameOf(source, key)), jsonOf(fields));
      }
      const later = old.slice(6, 10).map((key) => [key, { title: random.pick(VALUES.title!)! }] as const);
      for (const [key, fields] of later) edit(key, fields);
      await write(source, later, `later-${seed}`);
      const changed = records(source);

      const done = await undo(batch);
      expect(done.undoes).toBe(batch);
      const after = records(source);
      const numberOf = (key: string): number => keys.indexOf(key) + 1;
      expect(rowsOf(done, 'created')).toEqual(keys.slice(30).map(numberOf));
      expect(done.created.length).toBe(10);
      const left = rowsOf(done, 'changed');
      for (const [key, row] of rows) {
        const name = nameOf(source, key);
        const [was, is, now] = [before.get(name), changed.get(name)!, after.get(name)!];
        if (was === undefined || left.includes(numberOf(key))) {
          expect(now).toEqual(is);
          continue;
        }
        if (edited.has(key)) {
          // The batch has changed nothing in it that an undo would restore.
          expect(now).toEqual(is);
          const own = Object.keys(row).filter((field) => !NOT_RESTORED.includes(field));
          for (const field of own)
            expect([key, field, is[field] ?? 'null']).toEqual([key, field, was[field] ?? 'null']);
          edited.delete(key);
          continue;
        }
        for (const field of Object.keys(row)) {
          const isEmpty = (was[field] ?? 'null') === 'null';
          if (NOT_RESTORED.includes(field))
            expect(keptRows(done, field, 'not-comparable')).toContain(numberOf(key));
          else if (isEmpty && now[field] !== 'null')
            expect(keptRows(done, field, 'empty')).toContain(numberOf(key));
          else expect([key, field, now[field]]).toEqual([key, field, was[field] ?? 'null']);
        }
        const others = (all: Fields) => Object.entries(all).filter(([field]) => !(field in row));
        expect(others(now)).toEqual(others(is));
      }
      expect(left.map((row) => keys[row - 1])).toEqual([...edited].sort((a, b) => numberOf(a) - numberOf(b)));
      expect(done.left.map(({ why }) => why)).toEqual(left.length > 0 ? ['created', 'changed'] : ['created']);

      // Nothing is left to undo.
      const writes = writesSeen(stack);
      expect(await undo(batch)).toMatchObject({ restored: 0, batch: null });
      expect(writesSeen(stack)).toBe(writes);
    },
  );

  it('continues after the command has ended between its input and its batch', async () => {
    create('stop', '1', { title: '"before"' });
    create('stop', '2', { title: '"before"' });
    const rows = ['1', '2'].map((key) => [key, { title: '"after"' }] as const);
    const batch = await write('stop', rows, 'stopped');
    const settings = stack.settings.connections[0]!;
    const first = new BatchUndo(stack.store, batch, { withNull: false, maxCells: 20 });
    const lines = Readable.from(first.lines(await snapshotForUndo(stack.store, settings, 'upserts')));
    const staged = await withTemporaryFile('undo.ndjson', lines, async (file) => {
      const batchId = await undoBatchId(stack.store, batch);
      return stageWriteBack(settings, { resource: 'calendar-entries', file, batchId });
    });
    expect(staged.batchId).toBe('undo-stopped');
    // The command is run again after a person has changed a record.
    stack.simulator.admin.update('calendar-entries', idOf(nameOf('stop', '2')), { title: 'by a person' });
    const before = writesSeen(stack);
    const done = await undo(batch);
    expect(done.batch).toMatchObject({ batchId: 'undo-stopped', outcome: 'written', counts: { updated: 1 } });
    expect(writesSeen(stack)).toBe(before + 1);
    const titles = ['1', '2'].map((key) => records('stop').get(nameOf('stop', key))!.title);
    expect(titles).toEqual(['"before"', '"by a person"']);
  });

  // test/unit/activities/resent-batch.test.ts: "writes no record that has changed since the undo was decided".
  longOnly('leaves records out that change after the comparison', async () => {
    for (const key of ['1', '2']) create('race', key, { title: '"before"' });
    const batch = await write(
      'race',
      [
        ['1', { title: '"after"' }],
        ['2', { title: '"after"' }],
      ],
      'race',
    );
    const settings = stack.settings.connections[0]!;
    const kept = new BatchUndo(stack.store, batch, { withNull: false, maxCells: 20 });
    const lines = Readable.from(kept.lines(await snapshotForUndo(stack.store, settings, 'upserts')));
    const staged = await withTemporaryFile('undo.ndjson', lines, (file) =>
      stageWriteBack(settings, { resource: 'calendar-entries', file, batchId: 'undo-race' }),
    );
    const expected = await writeExpected(stack.store, staged.batchId, kept.expected);
    stack.simulator.admin.update('calendar-entries', idOf(nameOf('race', '2')), { title: 'by a person' });
    const started = await startWriteBack(
      stack.temporal,
      { ...staged, expected },
      { taskQueue: stack.taskQueue },
    );
    const result = await followWriteBack(stack.temporal, started.workflowId, { everyMs: 50 });
    expect(result).toMatchObject({ outcome: 'written', counts: { updated: 1, skipped: 1 }, warnings: [] });
    const titles = ['1', '2'].map((key) => records('race').get(nameOf('race', key))!.title);
    expect(titles).toEqual(['"before"', '"by a person"']);
  });

  it('can be undone itself, and repeated', async () => {
    create('twice', '1', { title: '"before"' });
    const batch = await write('twice', [['1', { title: '"after"' }]], 'twice');
    const titles = () => [...records('twice').values()].map(({ title }) => title);
    expect((await undo(batch)).batch).toMatchObject({ batchId: 'undo-twice' });
    expect(titles()).toEqual(['"before"']);
    expect((await undo('undo-twice')).batch).toMatchObject({ batchId: 'undo-undo-twice' });
    expect(titles()).toEqual(['"after"']);
    expect((await undo(batch)).batch).toMatchObject({ batchId: 'undo-twice-2', counts: { updated: 1 } });
    expect(titles()).toEqual(['"before"']);
  });

  it('is named if the file is sent again, with what writes it again', async () => {
    create('again', '1', { title: '"before"' });
    const file = await fileIn(stack, '{"source":"again","sourceKey":"1","title":"after"}\n', 'ndjson');
    const send = (...options: string[]) => run('write-back', 'calendar-entries', file, ...options);
    const first = await send('--json');
    expect(first.code, first.stderr).toBe(0);
    const { batchId } = JSON.parse(first.stdout) as { batchId: string };
    const settled = await send();
    expect(settled.stderr).toContain('nothing was sent.');
    expect(settled.stderr).not.toContain('undone');
    await undo(batchId);
    const shown = batchId.slice(0, 12);
    const again = await send('--skip-unchanged');
    expect(again.stderr).toMatch(
      new RegExp(`1 row of it was undone at \\S+Z, .* ago, by batch undo-${shown}\\.`),
    );
    expect(again.stderr).toContain('give the batch another id: --batch-id NAME');
    const dry = await send('--dry-run');
    expect(dry.stdout).toContain(`Batch ${shown}: 1 row, 0 to send, 1 settled. Nothing was sent.`);
    const titles = () => [...records('again').values()].map(({ title }) => title);
    expect(titles()).toEqual(['"before"']);
    const sent = await send('--batch-id', 'NAME', '--json');
    expect(JSON.parse(sent.stdout)).toMatchObject({ batchId: 'NAME', counts: { updated: 1 } });
    expect(titles()).toEqual(['"after"']);
  });

  it('shows what it would change, and asks first', async () => {
    create('ask', '1', { title: '"before"' });
    const batch = await write('ask', [['1', { title: '"after"', secret: '"s"' }]], 'asks');
    const before = writesSeen(stack);
    const asked = await run('write-back', 'undo', batch);
    expect(asked.code).toBe(2);
    expect(asked.stdout).toMatch(/ask, 1 +title +after +before/);
    expect(asked.stderr).toContain('Batch asks: 1 row to undo');
    expect(asked.stderr).toContain('secret left out in 1 row: masked');
    expect(asked.stderr).toContain('add --yes');
    expect(writesSeen(stack)).toBe(before);
  });

  it('leaves rows out of which it does not know what they were', async () => {
    create('unread', '1', { title: '"before"' });
    const lines = '{"source":"unread","sourceKey":"1","title":"after"}\n';
    const file = await fileIn(stack, lines, 'ndjson');
    const { batchId } = await writeBack(stack, { resource: 'calendar-entries', file });
    const done = await undo(batchId);
    expect(done).toMatchObject({
      restored: 0,
      left: [{ why: 'not-kept', count: 1, rows: '1' }],
      batch: null,
    });
  });

  it('prints the ids of created records', async () => {
    const file = await fileIn(stack, timeEntriesCsv(2));
    const { batchId } = await writeBack(stack, { resource: 'time-entries', file });
    const done = await run('write-back', 'undo', batchId);
    expect(done.code, done.stderr).toBe(0);
    const ids = stack.simulator.admin
      .records('time-entries')
      .map((text) => (JSON.parse(text) as { id: string }).id);
    expect(done.stdout.trim().split('\n').sort()).toEqual(ids.sort());
    expect(done.stderr).toContain('the API cannot undo that');
  });
});

interface Undone {
  readonly undoes: string;
  readonly restored: number;
  readonly left: readonly { readonly why: string; readonly count: number; readonly rows: string }[];
  readonly fields: readonly { readonly why: string; readonly field: string; readonly rows: string }[];
  readonly created: readonly string[];
  readonly batch: { readonly batchId: string } | null;
}

/** Whether two JSON texts have the same value: 12.50 is 12.5. */
function isSame(one: string, other: string): boolean {
  return isDeepStrictEqual(JSON.parse(one), JSON.parse(other));
}

function nameOf(source: string, key: string): string {
  return `"${source}""${key}"`;
}

function rowsOf({ left }: Undone, why: string): number[] {
  return numbersOf(left.find((one) => one.why === why)?.rows);
}

function keptRows({ fields }: Undone, field: string, why: string): number[] {
  return numbersOf(fields.find((one) => one.field === field && one.why === why)?.rows);
}

function numbersOf(ranges = ''): number[] {
  if (ranges === '') return [];
  return ranges.split(',').flatMap((range) => {
    const [from, to = from] = range.split('-').map(Number) as [number, number?];
    return Array.from({ length: to - from + 1 }, (_, n) => from + n);
  });
}
