import { describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { verifyResource } from '../../../src/table/index.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { type Random, seededRandom } from '../../support/random.js';
import { seeds } from '../../support/seeds.js';

const NIGHTS = 7;
const DAY = 86_400_000;
const START = Date.parse('2026-11-21T02:00:00Z');

/** A value as the service writes it, with what people say about it. `undefined` as text: the field is absent. */
type Sample<Facts> = readonly [json: string | undefined, facts: Facts];

/** Texts of the service, and the value that they have; `null` for a null. */
const LABELS: readonly Sample<string | null>[] = [
  [undefined, null],
  ['null', null],
  ['""', ''],
  ['"=1+1"', '=1+1'],
  ['"\'=1+1"', "'=1+1"],
  ['"two\\nlines"', 'two\nlines'],
  ['"two\\\\nlines"', 'two\\nlines'],
  ['"a,b;c"', 'a,b;c'],
  ['"say \\"hi\\""', 'say "hi"'],
  ['" é — 日本 "', ' é — 日本 '],
  ['"\\u00e9"', '\u00e9'],
  ['"e\\u0301"', 'e\u0301'],
  ['"{}"', '{}'],
  ['"[1,2]"', '[1,2]'],
  ['17', '17'],
  ['"17"', '17'],
  ['17.0', '17.0'],
  ['true', 'true'],
];

/** Numbers for `min: -0.5, max: 9007199254740992.25`. */
const AMOUNTS: readonly Sample<'null' | 'within' | 'outside'>[] = [
  [undefined, 'null'],
  ['null', 'null'],
  ['0', 'within'],
  ['-0', 'within'],
  ['-0.5', 'within'],
  ['-0.50', 'within'],
  ['-5e-1', 'within'],
  ['-0.500000000000000001', 'outside'],
  ['-1', 'outside'],
  ['9007199254740992', 'within'],
  ['9007199254740992.25', 'within'],
  ['9007199254740992.250000000000001', 'outside'],
  ['9007199254740993', 'outside'],
  ['9.00719925474099225e15', 'within'],
  ['1e21', 'outside'],
  ['1E-400', 'within'],
  ['"12"', 'within'],
  ['" 12"', 'outside'],
  ['"twelve"', 'outside'],
  ['""', 'outside'],
  ['true', 'outside'],
  ['[1]', 'outside'],
  ['{"a":1}', 'outside'],
];

/** Values for `[open, "in progress", 7, true, "=x"]`. */
const STATES: readonly Sample<'null' | 'listed' | 'other'>[] = [
  [undefined, 'null'],
  ['null', 'null'],
  ['"open"', 'listed'],
  ['"Open"', 'other'],
  ['"in progress"', 'listed'],
  ['7', 'listed'],
  ['7.0', 'listed'],
  ['"7"', 'listed'],
  ['70e-1', 'listed'],
  ['7.5', 'other'],
  ['true', 'listed'],
  ['false', 'other'],
  ['"=x"', 'listed'],
  ['""', 'other'],
];

/** Times before the start of the night by hours; `null`: no time. */
const TIMES: readonly ((night: number) => Sample<number | null>)[] = [
  () => ['null', null],
  () => ['"soon"', null],
  (night) => [JSON.stringify(new Date(night - 30 * DAY).toISOString()), night - 30 * DAY],
  (night) => [JSON.stringify(new Date(night - 10 * DAY).toISOString()), night - 10 * DAY],
  (night) => [String(Math.floor((night - 9 * DAY) / 1000)), night - 9 * DAY],
  (night) => [String(night - 5 * DAY), night - 5 * DAY],
  (night) => [
    JSON.stringify(`${new Date(night - 2 * DAY + 7_200_000).toISOString().slice(0, 19)}+02:00`),
    night - 2 * DAY,
  ],
];

interface Row {
  readonly label: string | null;
  readonly amount: string;
  readonly state: string;
  readonly at: number | null;
}

/** The service's records, as this test knows them. */
class Model {
  readonly rows = new Map<string, Row>();
  /** Ids of the records that changed since the last run. */
  changed = new Set<string>();

  constructor(
    readonly random: Random,
    readonly mirror: InProcessMirror,
  ) {}

  #fields(night: number): { json: string; row: Row } {
    const { random } = this;
    // Most values are good ones of their own, so that parts are large enough to be divided.
    const isGood = random.below(3) > 0;
    const label: Sample<string | null> = isGood ? ownLabel(random.below(1e9)) : random.pick(LABELS);
    const amount = isGood ? AMOUNTS[2]! : random.pick(AMOUNTS);
    const state = isGood ? STATES[2]! : random.pick(STATES);
    const at = random.pick(TIMES)(night);
    const fields = {
      label: label[0],
      amount: amount[0],
      state: state[0],
      at: at[0],
      pad: `"${'x'.repeat(40)}"`,
    };
    const json = Object.entries(fields).flatMap(([name, text]) =>
      text === undefined ? [] : [`"${name}":${text}`],
    );
    return {
      json: `{${json.join(',')}}`,
      row: { label: label[1], amount: amount[1], state: state[1], at: at[1] },
    };
  }

  change(night: number): void {
    const { random, rows, mirror } = this;
    const { admin } = mirror.simulator;
    for (let n = random.below(25); n > 0; n--) {
      const { json, row } = this.#fields(night);
      const id = admin.create('tasks', json);
      rows.set(id, row);
      this.changed.add(id);
    }
    const ids = [...rows.keys()];
    for (let n = ids.length === 0 ? 0 : random.below(6); n > 0; n--) {
      const id = random.pick(ids);
      const { json, row } = this.#fields(night);
      // An absent field of an update keeps its value, so the record is replaced.
      admin.update('tasks', id, `{"label":null,"amount":null,"state":null,"at":null}`);
      admin.update('tasks', id, json);
      rows.set(id, row);
      this.changed.add(id);
    }
  }

  remove(): void {
    const ids = [...this.rows.keys()];
    for (let n = Math.min(ids.length, this.random.below(4)); n > 0; n--) {
      const id = this.random.pick(ids);
      if (!this.rows.delete(id)) continue;
      this.mirror.simulator.admin.remove('tasks', [id]);
    }
  }
}

function ownLabel(number: number): Sample<string> {
  return [`"label ${number}"`, `label ${number}`];
}

const CSV = [
  '{ partSize: 1KiB }',
  '{ partSize: 2KiB, compression: none, lineBreaks: escape }',
  '{ partSize: 1KiB, delimiter: ";", escapeFormulas: true }',
  '{ partSize: 64MiB, lineBreaks: escape, escapeFormulas: true }',
];

const CHECKS = (extra: string) => `
        - { rows: { max: 0 }, onFail: warn }
        - { notNull: [label, id], onFail: warn }
        - { unique: [label, at], onFail: warn }
        - { oneOf: { state: [open, "in progress", 7, true, "=x"] }, onFail: warn }
        - { range: { amount: { min: -0.5, max: "9007199254740992.25" } }, onFail: warn }
        - { newest: { field: at, maxAge: 7d } }
        - { rows: { max: 0 }, of: run, onFail: warn }
        - { notNull: label, of: run, onFail: warn }
        - { unique: label, of: run, onFail: warn }
${extra}`;

const yaml = (csv: string, deletes: string, checks: string) =>
  `{ name: tasks, csv: ${csv}, deletes: ${deletes}, checks: [${checks
    .split('\n')
    .map((line) => line.trim().replace(/^- /, ''))
    .filter((line) => line !== '')
    .join(', ')}] }`;

describe('the counts of checks', () => {
  it.each(seeds(2))(
    'are those of the service, whatever changes from night to night, seed %i',
    async (seed) => {
      const random = seededRandom(seed);
      const csv = random.pick(CSV);
      const deletes = random.pick(['mark', 'drop']);
      let now = START;
      const mirror = await InProcessMirror.start({
        simulator: {
          counts: { tasks: 0 },
          now,
          order: random.pick(['id', 'updatedAt']),
          pageMax: 20 + random.below(50),
        },
        resource: 'tasks',
        yaml: yaml(csv, deletes, CHECKS('')),
        connection: '    sync: { overlap: 1s }',
      });
      try {
        const model = new Model(random, mirror);
        const published: { readonly runId: RunId; readonly rows: readonly Row[] }[] = [];
        for (let night = 0; night < NIGHTS; night++) {
          now += DAY;
          mirror.simulator.admin.setNow(now - 3_600_000);
          model.change(now);
          const reconcile = night > 0 && random.below(3) === 0;
          if (reconcile) model.remove();
          mirror.simulator.admin.setNow(now);
          mirror.clock = now;
          // A new definition reads all parts once.
          if (night === 3 || night === 5)
            await mirror.configure(
              yaml(
                csv,
                deletes,
                CHECKS(`        - { oneOf: { state: [open${night}] }, of: run, onFail: warn }
        - { range: { amount: { min: ${night} } }, of: run, onFail: warn }`),
              ),
              '    sync: { overlap: 1s }',
            );
          const { inMemory, warnings } = await mirror.run(reconcile ? { reconcile } : {});
          const { manifest } = await mirror.current();
          const rows = (name: string) => manifest.checks!.find((one) => one.name === name)!.rows;
          const found = {
            rows: rows('rows'),
            nulls: rows('notNull(label)'),
            noIds: rows('notNull(id)'),
            labels: rows('unique(label)'),
            times: rows('unique(at)'),
            states: rows('oneOf(state)'),
            amounts: rows('range(amount)'),
            newest: manifest.checks!.find((one) => one.name === 'newest(at)')!.outcome,
          };
          const all = [...model.rows.values()];
          expect({ night, ...found }).toEqual({ night, ...expected(all, now), noIds: 0 });
          // An increment reads what changed; a full read, or a delete in doubt, reads more.
          if (manifest.mode === 'increment') {
            const read = [...model.changed].flatMap((id) => model.rows.get(id) ?? []);
            expect([
              rows('rows of run'),
              rows('notNull(label) of run'),
              rows('unique(label) of run'),
            ]).toEqual([
              read.length,
              read.filter(({ label }) => label === null).length,
              shared(read.map(({ label }) => label)),
            ]);
          } else expect(rows('rows of run')).toBe(all.length);
          // A night may also bring no row that a check minds.
          const { nulls, labels, states, amounts } = expected(all, now);
          if (nulls + labels + states + amounts > 0)
            expect(warnings.filter((text) => text.startsWith('check: ')).length).toBeGreaterThan(0);
          expect(typeof inMemory).toBe('boolean');
          // Every row is read and counted again, apart from what the runs have added and subtracted.
          const verified = await verifyResource(mirror.store, mirror.settings, 'tasks');
          expect(verified.problems).toEqual([]);
          model.changed = new Set();
          published.push({ runId: mirror.published!, rows: [...model.rows.values()] });
        }
        // A rollback has the rows of its target. Checks warn of them, and never stop it.
        const target = random.pick(published.slice(0, -1));
        mirror.clock = now + 60_000;
        await mirror.rollBack(target.runId);
        const { checks } = (await mirror.current()).manifest;
        const { rows, nulls, labels, states, amounts } = expected(target.rows, now);
        const names = ['rows', 'notNull(label)', 'unique(label)', 'oneOf(state)', 'range(amount)'];
        expect(names.map((name) => checks!.find((one) => one.name === name)!.rows)).toEqual([
          ...[rows, nulls, labels, states, amounts],
        ]);
        expect((await verifyResource(mirror.store, mirror.settings, 'tasks')).problems).toEqual([]);
        await mirror.run();
        expect((await verifyResource(mirror.store, mirror.settings, 'tasks')).problems).toEqual([]);
      } finally {
        await mirror.close();
      }
    },
  );
});

function expected(rows: readonly Row[], now: number) {
  const times = rows.flatMap(({ at }) => at ?? []);
  const newest = Math.max(...times);
  const undated = times.length === 0;
  return {
    rows: rows.length,
    nulls: rows.filter(({ label }) => label === null).length,
    labels: shared(rows.map(({ label }) => label)),
    times: expect.any(Number),
    states: rows.filter(({ state }) => state === 'other').length,
    amounts: rows.filter(({ amount }) => amount === 'outside').length,
    newest: undated ? expect.any(String) : now - newest > 7 * DAY ? 'warned' : 'passed',
  };
}

/** Values that are equal, counted in the slow and plain way. */
function shared(values: readonly (string | null)[]): number {
  return values.filter((value) => value !== null && values.filter((other) => other === value).length > 1)
    .length;
}
