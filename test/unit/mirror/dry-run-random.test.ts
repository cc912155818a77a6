import { ApplicationFailure } from '@temporalio/common';
import { afterEach, describe, expect, it } from 'vitest';
import type { DiffCell, RowSettings } from '../../../src/core/contract/index.js';
import { rowSettingsOf } from '../../../src/core/row-settings.js';
import { readManifest } from '../../../src/lake/documents/manifest.js';
import { readPointer } from '../../../src/lake/documents/pointer.js';
import { InProcessMirror, type RunOptions } from '../../support/in-process-mirror.js';
import { lakeContents } from '../../support/lake-contents.js';
import { idOf } from '../../support/mirrored.js';
import { type Random, seededRandom } from '../../support/random.js';
import { seeds } from '../../support/seeds.js';
import { readSnapshot } from '../../support/snapshot.js';

const DAY = 86_400_000;

/** The settings of a resource in one line of YAML. `stable` settings stay the same for one mirror. */
function drawSettings(random: Random, stable: string): string {
  const checks = random.pick([
    '',
    'checks: [{ rows: { min: 1 } }]',
    'checks: [{ rows: { min: 90 } }]',
    'checks: [{ change: { max: 10% } }, { unique: id, onFail: warn }]',
    'checks: [{ notNull: status }]',
  ]);
  const columns = random.pick([
    '',
    'columns: { exclude: [title] }',
    'columns: { mask: { title: redact } }',
    'columns: { mask: { title: hash } }',
  ]);
  const csv = random.pick(['', 'csv: { escapeFormulas: true }', 'csv: { compression: none }']);
  const deletes = `deletes: ${random.pick(['mark', 'drop', 'keep'])}`;
  return `{ ${['name: tasks', stable, checks, columns, csv, deletes].filter((one) => one !== '').join(', ')} }`;
}

function rowSettings(mirror: InProcessMirror): RowSettings {
  return rowSettingsOf(mirror.settings).tasks!;
}

function change({ simulator }: InProcessMirror, random: Random, times: number): void {
  const { admin } = simulator;
  for (let at = 0; at < times; at++) {
    const ids = admin.records('tasks').map(idOf);
    const what = random.pick(['create', 'update', 'update', 'remove', 'field', 'many'] as const);
    if (what === 'create') admin.create('tasks', { title: `new ${random.below(100)}` });
    else if (ids.length === 0) continue;
    else if (what === 'update') admin.update('tasks', random.pick(ids), { title: `v${random.below(1000)}` });
    else if (what === 'remove') admin.remove('tasks', [random.pick(ids)]);
    else if (what === 'many' && random.below(4) === 0) admin.remove('tasks', ids.slice(0, 30));
    else
      admin.addField('tasks', `field${random.below(4)}`, random.pick(['"x"', '1', '{"a":1}']), {
        count: 2,
        pick: 'newest',
      });
  }
}

/** Odd services that answer the same request in the same way each time, as a service does that stands still. */
const STILL = [
  ...[
    'empty-204',
    'null-data',
    'html-label',
    'latin1',
    'utf-16',
    'coding-utf-8',
    'gzip-label',
    'redirect-slash',
  ],
  ...['control-characters', 'growing-cursors', 'sparse-pages', 'no-date', 'empty-map-array', 'null-records'],
  ...['announced-end', 'by-id-404', 'by-id-200', 'by-id-403', 'last-page-0', 'dates-without-zone'],
  ...['updated-since-ignored', 'updated-since-new-york', 'updated-since-tokyo', 'increment-404'],
] as const;

const ACCEPTED = { allowDeletes: true, acceptChecks: 'a test' } as const;

/** A run that may fail, for example because all its records are gone. */
async function tried(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof ApplicationFailure)) throw error;
  });
}

/** What can be compared of a run and a dry run: its result, or the failure that ended it. */
async function outcomeOf(work: Promise<object>): Promise<Record<string, unknown>> {
  try {
    const { counts, warnings, deletes, checks } = (await work) as Record<string, unknown>;
    return { counts, warnings, deletes, checks };
  } catch (error) {
    if (!(error instanceof ApplicationFailure)) throw error;
    // A message may name the run.
    return { type: error.type, message: error.message.replace(/\d{8}T\d{6}Z-[0-9a-f]{8}/g, 'RUN') };
  }
}

describe('a dry run of a random state, change, configuration and request', () => {
  let mirror: InProcessMirror | undefined;
  afterEach(() => mirror?.close());

  it.each(seeds(4))(
    'finds what the run then publishes, and leaves the lake as it is, seed %i',
    async (seed) => {
      const random = seededRandom(seed);
      const stable = random.pick(['', 'updatedAt: updatedAt', 'fetchById: true', 'badRecords: quarantine']);
      const connection =
        `    sync: { reconcileEvery: ${random.pick(['never', '7d', '1d'])}, pageSize: ${random.pick([7, 50, 1000])} }\n` +
        (random.below(2) === 0 ? '    masking: { secret: { env: WORKTRACK_API_KEY } }\n' : '');
      const before = drawSettings(random, stable);
      mirror = await InProcessMirror.start({
        simulator: {
          ...{ seed, awkward: random.pick([true, false]), counts: { tasks: 1 + random.below(120) } },
          ...{ order: random.pick(['id', 'updatedAt', '-updatedAt']), fetchById: 'all' as const },
          odd: random.below(3) === 0 ? [random.pick(STILL)] : [],
        },
        ...{ resource: 'tasks', yaml: before, connection },
      });
      const { admin } = mirror.simulator;
      const nights = random.below(3);
      for (let night = 0; night < nights; night++) {
        await tried(mirror.run({ ...ACCEPTED, inMemory: random.below(2) === 0 }));
        mirror.clock += DAY;
        admin.advance(DAY);
        change(mirror, random, random.below(6));
      }
      if (nights > 0 && random.below(4) === 0) await tried(mirror.abandon());
      if (nights > 1 && random.below(4) === 0) {
        const { published } = mirror;
        await tried(mirror.run(ACCEPTED).then(() => mirror!.rollBack(published!)));
      }
      const isPreview = random.below(2) === 0;
      const after = isPreview ? drawSettings(random, stable) : before;
      await mirror.configure(after, connection);
      const settings = rowSettings(mirror);
      await mirror.configure(before, connection);
      const request: RunOptions = {
        full: random.below(3) === 0,
        reconcile: random.below(3) === 0,
        allowDeletes: random.below(3) === 0,
      };

      const held = await lakeContents(mirror.store);
      const inMemory = random.below(3) > 0;
      const cells = random.below(2) === 0 ? { cells: 5 } : {};
      const dry = mirror.dryRun({
        ...{ ...request, ...cells, ...(isPreview && { settings }) },
        inMemory,
      });
      const expected = await outcomeOf(dry);
      const report = await dry.catch(() => null);
      if (report?.dryRun.diff) {
        expect(Object.keys(await lakeContents(mirror.store))).toHaveLength(Object.keys(held).length + 1);
        await mirror.store.remove([report.dryRun.diff]);
      }
      expect(await lakeContents(mirror.store)).toEqual(held);

      await mirror.configure(after, connection);
      const known = await columnsOf(mirror);
      expect(await outcomeOf(mirror.run({ ...request, inMemory }))).toEqual(expected);
      if (report === null) return;
      expect(report.dryRun.requests).toBeGreaterThan(0);
      const found = await columnsOf(mirror);
      const added = found.slice(known.length);
      expect(report.dryRun.columns.map(({ name }) => name)).toEqual(expect.arrayContaining(added));
    },
  );
});

async function columnsOf({ store }: InProcessMirror): Promise<readonly string[]> {
  const pointer = await readPointer(store, 'tasks');
  const manifest = pointer === null ? null : await readManifest(store, pointer.snapshot);
  return manifest?.columns.map(({ name }) => name) ?? [];
}

describe('the diff of a dry run', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror.close());

  const start = async (): Promise<void> => {
    mirror = await InProcessMirror.start({
      simulator: { seed: 1, awkward: false, counts: { tasks: 30 } },
      ...{ resource: 'tasks', yaml: '{ name: tasks, columns: { mask: { title: redact } } }' },
      connection: '    csv: { partSize: 2KiB }\n',
    });
  };

  async function diffOf(options: Parameters<InProcessMirror['dryRun']>[0]): Promise<DiffCell[]> {
    const { dryRun } = await mirror.dryRun(options);
    const lines = (await mirror.store.read(dryRun.diff!)).toString('utf8').trimEnd().split('\n');
    await mirror.store.remove([dryRun.diff!]);
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as DiffCell);
  }

  it('holds the cells that the run then changes, before and after', async () => {
    await start();
    await mirror.run();
    const { admin } = mirror.simulator;
    const ids = admin.records('tasks').map(idOf);
    admin.update('tasks', ids[3]!, { status: 'first, "quoted"' });
    admin.update('tasks', ids[27]!, { status: 'second' });
    admin.remove('tasks', [ids[10]!]);
    const before = await readSnapshot(mirror.store, 'tasks');
    const diff = await diffOf({ cells: 1000, reconcile: true });
    mirror.clock += 1000;
    await mirror.run({ reconcile: true });
    const after = await readSnapshot(mirror.store, 'tasks');
    const names = after.header.filter((name) => name !== '_run_id' && name !== '_synced_at');
    const changed = after.rows.flatMap((row) => {
      const old = before.rows.find(({ id }) => id === row.id);
      return names
        .filter((name) => (old?.[name] ?? null) !== (row[name] ?? null))
        .map((column) => ({
          key: [row.id],
          column,
          before: old?.[column] ?? null,
          after: row[column] ?? null,
        }));
    });
    const withoutTime = (cells: readonly { column: string; after: string | null }[]) =>
      cells.map((cell) => (cell.column === '_deleted_at' ? { ...cell, after: 'a time' } : cell));
    expect(withoutTime(diff)).toEqual(withoutTime(changed));
    expect(diff.filter(({ column }) => column === 'status')).toHaveLength(2);
  });

  it('shows no masked value, also of a configuration that masks nothing', async () => {
    await start();
    await mirror.run();
    const { columns, ...others } = rowSettings(mirror);
    const diff = await diffOf({
      cells: 1000,
      full: true,
      settings: { ...others, columns: { ...(columns as object), mask: {} } },
    });
    const titles = diff.filter(({ column }) => column === 'title');
    expect(titles.length).toBeGreaterThan(0);
    expect(new Set(titles.map(({ after }) => after))).toEqual(new Set(['(masked)']));
  });

  it('has one cell more than the limit, which shows that there are more', async () => {
    await start();
    expect(await diffOf({ cells: 4 })).toHaveLength(5);
  });
});
