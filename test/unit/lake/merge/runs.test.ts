import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ByteString, Cells, ObjectKey, RunId } from '../../../../src/core/brands.js';
import type { ResourceSettings } from '../../../../src/core/settings.js';
import { toUtcSeconds } from '../../../../src/core/utc-time.js';
import { noFacts } from '../../../../src/core/value-facts.js';
import { RowBuffer, RowWriter } from '../../../../src/lake/chunk/row-buffer.js';
import { sortRows } from '../../../../src/lake/chunk/sort-rows.js';
import { writeChunk } from '../../../../src/lake/chunk/write-chunk.js';
import { indexKey } from '../../../../src/lake/documents/block-index.js';
import { inFolder, nameOf, runFolder } from '../../../../src/lake/documents/lake-layout.js';
import type { BaseSnapshot, WritingRun } from '../../../../src/lake/documents/run-file.js';
import type { StagedChunk } from '../../../../src/lake/documents/stage-file.js';
import { framingOf, framingOfChunk } from '../../../../src/lake/part/framing.js';
import { BlockReader } from '../../../../src/lake/part/reader.js';
import { ColumnSet } from '../../../../src/lake/rows/data-columns.js';
import { newerRows } from '../../../../src/lake/rows/newer.js';
import { profileFingerprint, readyProfile } from '../../../../src/lake/rows/profile.js';
import { rowPrefix, type SortKey } from '../../../../src/lake/rows/row.js';
import { shapeOf } from '../../../../src/lake/rows/shapes.js';
import { maxOverlap } from '../../../../src/run/key-ranges.js';
import { mergeTask } from '../../../../src/run/merge/merge-parts.js';
import { planTasks } from '../../../../src/run/merge/plan-merge.js';
import { addUp, MergeCounts, type TaskResult } from '../../../../src/run/merge-result.js';
import { mergeSlice } from '../../../../src/run/read/compact-chunks.js';
import { firstStage } from '../../../../src/run/read/read-stage.js';
import type { MergePlan } from '../../../../src/run/run-journal.js';
import { Staging } from '../../../../src/run/staging.js';
import { rounds } from '../../../support/seeds.js';
import {
  byKey,
  bytes,
  keysOf,
  profileOf,
  readIndex,
  readPart,
  rowsOf,
  temporaryLake,
} from '../data-plane.js';

const lake = temporaryLake();

/** A record: its id, and its fields in the order that the service writes them. */
type Fields = readonly (readonly [string, string | null])[];
interface Fetch {
  readonly id: string;
  readonly fields: Fields;
}
interface Night {
  /** What is staged together. */
  readonly chunks: readonly (readonly Fetch[])[];
  /** Whether the chunks are merged into a larger one first. */
  readonly longer?: boolean;
  readonly gone: readonly string[];
  /** Today's profile. */
  readonly csv: {
    readonly escapeFormulas: boolean;
    readonly delimiter: string;
    readonly compression: 'gzip' | 'none';
  };
}

interface Known {
  runId: RunId;
  deleted: boolean;
  values: Map<string, string | null>;
}

const anyFields: fc.Arbitrary<Fields> = fc
  .uniqueArray(fc.constantFrom('name', 'note', 'tags', '_run_id'), { maxLength: 3 })
  .chain((names) =>
    fc.tuple(
      ...names.map((name) => fc.tuple(fc.constant(name), fc.constantFrom('x', '', null, 'l\n"m"', 'a,b;c'))),
    ),
  );
const idOf = (n: number) => `id-${String(n).padStart(3, '0')}`;
/** Records from a stretch of the ids, so that parts come to stand for stretches, or from all of them. */
const anyChunk: fc.Arbitrary<Fetch[]> = fc
  .constantFrom([0, 9], [10, 19], [20, 29], [30, 39], [40, 60], [0, 60])
  .chain(([min, max]) =>
    fc.array(fc.record({ id: fc.integer({ min: min!, max: max! }).map(idOf), fields: anyFields }), {
      minLength: 1,
      maxLength: 20,
    }),
  );
const anyNight: fc.Arbitrary<Night> = fc.record({
  chunks: fc.array(anyChunk, { maxLength: 6 }),
  longer: fc.boolean(),
  gone: fc.array(fc.nat(60).map(idOf), { maxLength: 3 }),
  csv: fc.record({
    escapeFormulas: fc.constant(false),
    delimiter: fc.constantFrom(',', ',', ',', ';'),
    compression: fc.constantFrom('gzip' as const, 'gzip' as const, 'none' as const),
  }),
});

function resourceOf(csv: Night['csv']): ResourceSettings {
  const profile = profileOf({ csv: { ...csv, partBytes: 800 } });
  return {
    ...profile,
    name: 'tasks',
    path: 'tasks',
    windowMs: null,
    windowField: null,
    deleted: null,
    params: {},
    updatedAtField: null,
    fetchById: false,
    badRecords: 'stop',
    contract: 'evolve',
    deletes: 'mark',
    checks: [],
  };
}

let lakes = 0;

/** One mirror in a separate folder. Runs one run with the activities' functions, without Temporal. */
class Mirror {
  readonly #name = `lake-${lakes++}`;
  #runs = 0;
  before: BaseSnapshot | null = null;
  /** What the snapshot must hold. */
  readonly model = new Map<string, Known>();

  async night({
    chunks,
    longer,
    gone,
    csv,
  }: Night): Promise<{ readonly run: WritingRun; readonly plan: MergePlan }> {
    const startedAt = Date.parse('2026-11-21T02:00:00Z') + this.#runs * 86_400_000;
    const stamp = toUtcSeconds(startedAt).replaceAll(/[-:]/g, '');
    const runId = `${stamp}-${String(this.#runs++).padStart(8, '0')}` as RunId;
    const resource = readyProfile({ ...resourceOf(csv), name: this.#name }, null);
    const run = {
      resource,
      runId,
      startedAt,
      nominalStart: startedAt,
      before: this.before,
      rollback: null,
    } as unknown as WritingRun;
    const columns = new ColumnSet(['id'], this.before?.columns ?? []);
    let staged: StagedChunk[] = [];
    let duplicates = 0;
    for (const fetches of chunks) {
      const buffer = new RowBuffer();
      const writer = new RowWriter(resource, rowPrefix(runId, toUtcSeconds(startedAt), null, csv.delimiter));
      for (const { id, fields } of fetches) {
        const cells: Cells = [bytes(id)];
        for (const [name, value] of fields)
          cells[columns.columnOf(bytes(name))] = value === null ? null : bytes(value);
        expect(writer.write([cells], columns.names, buffer).keyless).toEqual([]);
      }
      const written = await writeChunk(
        lake.store,
        // The rows of an unordered list are staged uncompressed.
        lake.newKey(staged.length % 2 === 0 ? framingOf(csv).extension : '.csv'),
        sortRows(buffer),
        columns.toColumns(),
        {
          profile: resource,
          isNewer: null,
        },
      );
      staged.push(written.chunk);
      duplicates += written.duplicates;
    }
    if (longer) ({ chunks: staged, duplicates } = await this.#mergeFirst(run, columns, staged, duplicates));
    const known = gone.filter((id) => this.model.has(id) && !chunks.flat().some((fetch) => fetch.id === id));
    const plan = await this.#plan(run, columns, staged, known);
    const fingerprint = profileFingerprint(resource);
    const results = await Promise.all(plan.tasks.map((_, at) => this.#task(run, plan, at, known)));
    const sum = addUp(results, {
      fetched: chunks.flat().length,
      duplicates,
      unwritten: 0,
      before: this.before?.rows ?? 0,
      tasks: plan.tasks.length,
    });
    if ('problem' in sum) throw new Error(sum.problem);
    const { delimiter } = csv;
    this.before = {
      ...(this.before as BaseSnapshot),
      runId,
      rows: sum.counts.rows,
      fingerprint,
      columns: plan.columns,
      parts: sum.parts,
      profile: resource,
      shapes: [shapeOf(resource, null)],
    };
    const changed = this.#learn(runId, chunks.flat(), known);
    const log = (await Promise.all(sum.changes.map(({ key }) => this.#rowsOfFile(key, delimiter)))).flat();
    expect(log.map(({ cells }) => cells[0])).toEqual([...changed].sort(byKey));
    return { run, plan };
  }

  async #mergeFirst(run: WritingRun, columns: ColumnSet, chunks: StagedChunk[], duplicates: number) {
    const ref = { resource: run.resource.name, runId: run.runId };
    const { signal: stop } = new AbortController();
    const stage = { ...firstStage(run), columns: columns.toColumns(), chunks, duplicates };
    if (chunks.length === 0) return stage;
    const staging = new Staging(lake.store, ref, 1);
    const options = { staging, run, stop, draining: () => false };
    const merged = await mergeSlice(options, stage, { from: 0, to: chunks.length });
    expect(maxOverlap(merged.chunks.filter(({ isTwin }) => !isTwin))).toBe(1);
    return { chunks: [...merged.chunks], duplicates: merged.duplicates };
  }

  async #plan(
    run: WritingRun,
    columns: ColumnSet,
    chunks: readonly StagedChunk[],
    gone: readonly string[],
  ): Promise<MergePlan> {
    const { csv } = run.resource;
    const blocks = await Promise.all(
      chunks.map(async ({ key }) => (await readIndex(lake.store, key)).blocks),
    );
    const same = this.before?.fingerprint === profileFingerprint(run.resource);
    const all = columns.toColumns();
    return {
      columns: all,
      chunks,
      lastChain: 0,
      repeated: 0,
      ...(await planTasks({
        before: this.before?.parts ?? [],
        chunks,
        blocks,
        partBytes: csv.partBytes,
        rewrite: same && this.before?.columns.length === all.length ? 'touched' : 'all',
        gone: gone.map((id) => bytes(id) as SortKey),
        keysOf: async (chunk, block) => {
          const { key } = chunks[chunk]!;
          const part = { key, blocks: blocks[chunk]!, framing: framingOfChunk(key) };
          return keysOf(await new BlockReader(lake.store, part).rows(block), 1, csv.delimiter);
        },
      })),
    };
  }

  async #task(run: WritingRun, plan: MergePlan, at: number, gone: readonly string[]): Promise<TaskResult> {
    const task = plan.tasks[at]!;
    if (task.kind === 'merge') {
      const keys = gone.map((id) => bytes(id) as SortKey);
      const signal = new AbortController().signal;
      const ref = { resource: run.resource.name, runId: run.runId };
      return {
        task: at,
        ...(await mergeTask({
          ...{
            staging: new Staging(lake.store, ref, 1),
            run,
            plan,
            task,
            gone: keys,
            token: '00000000',
            signal,
          },
          signs: { repeated: 0, found: 0 },
        })),
      };
    }
    const folder = runFolder(run.resource.name, 'snapshots', 'carried', run.runId);
    const name = nameOf(task.part.key).replace(/^part-\d+/, `part-${String(task.number).padStart(5, '0')}`);
    const copy = { ...task.part, key: inFolder(folder, name) };
    await lake.store.copy(task.part.key, copy.key);
    await lake.store.copy(indexKey(task.part.key), indexKey(copy.key));
    const counts = { ...new MergeCounts(), retained: task.part.rows, rows: task.part.rows };
    return { task: at, counts, parts: [copy], changes: [] };
  }

  /** Brings the model up to date; returns the ids that the change log must name. */
  #learn(runId: RunId, fetches: readonly Fetch[], gone: readonly string[]): Set<string> {
    const changed = new Set<string>();
    const latest = new Map(fetches.map((fetch) => [fetch.id, fetch]));
    for (const { id, fields } of latest.values()) {
      const values = new Map(fields.filter(([, value]) => value !== null));
      const old = this.model.get(id);
      const text = (map: Map<string, string | null>) => JSON.stringify([...map].sort());
      if (old !== undefined && !old.deleted && text(old.values) === text(values)) continue;
      this.model.set(id, { runId, deleted: false, values });
      changed.add(id);
    }
    for (const id of gone) {
      const old = this.model.get(id)!;
      if (old.deleted) continue;
      this.model.set(id, { ...old, runId, deleted: true });
      changed.add(id);
    }
    return changed;
  }

  async #rowsOfFile(key: ObjectKey, delimiter: string) {
    const file = await lake.store.read(key);
    return rowsOf((key.endsWith('.gz') ? gunzipSync(file) : file).toString('latin1'), delimiter).slice(1);
  }

  /** The snapshot as a reader sees it, by id in the order of its rows. */
  async read(): Promise<[string, Known][]> {
    const { parts, columns, profile } = this.before!;
    const { delimiter } = profile.csv;
    const rows = (await Promise.all(parts.map(({ key }) => this.#rowsOfFile(key, delimiter)))).flat();
    const indexed = (await Promise.all(parts.map(({ key }) => readPart(lake.store, key, delimiter)))).flat();
    expect(indexed).toEqual(rows);
    return rows.map(({ runId, deletedAt, cells }) => {
      expect(cells).toHaveLength(columns.length);
      const values = new Map<string, string | null>();
      for (const [at, cell] of cells.entries()) {
        const field = columns[at]!.name.replace(/__field$/, '');
        if (at > 0 && cell !== null) values.set(field, cell);
      }
      return [cells[0]!, { runId, deleted: deletedAt !== null, values }];
    });
  }
}

const sortedModel = (mirror: Mirror) =>
  [...mirror.model]
    .sort(([a], [b]) => byKey(a, b))
    .map(([id, known]) => [id, { ...known, values: known.values }] as const);

const CSV = { escapeFormulas: false, delimiter: ',', compression: 'gzip' } as const;
const record = (n: number, value = 'x'): Fetch => ({
  id: idOf(n),
  fields: [['name', value]],
});
const range = (from: number, to: number): Fetch[] =>
  Array.from({ length: to - from }, (_, at) => record(from + at));
/** Parts end where blocks do, and a chunk this small is one block: four chunks make four parts. */
const FIRST = [range(0, 15), range(15, 30), range(30, 45), range(45, 60)];

describe('A sequence of nightly runs', () => {
  it('has the fetched rows in the snapshot and the changed ones in the change log, for any input', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyNight, { minLength: 1, maxLength: 6 }), async (nights) => {
        const mirror = new Mirror();
        let names: readonly string[] = ['id'];
        for (const night of nights) {
          await mirror.night(night);
          const columns = mirror.before!.columns.map(({ name }) => name);
          expect(columns.slice(0, names.length)).toEqual(names);
          names = columns;
          const found = await mirror.read();
          expect(found).toEqual(sortedModel(mirror));
          expect(mirror.before!.rows).toBe(found.length);
        }
      }),
      { numRuns: rounds(10) },
    );
  });

  it('copies every part byte for byte in a run without changes', async () => {
    const mirror = new Mirror();
    await mirror.night({ chunks: FIRST, gone: [], csv: CSV });
    const first = mirror.before!.parts;
    expect(first).toHaveLength(4);
    const { plan } = await mirror.night({ chunks: [], gone: [], csv: CSV });
    expect(plan.tasks.map(({ kind }) => kind)).toEqual(first.map(() => 'carry'));
    expect(mirror.before!.parts.map(({ sha256 }) => sha256)).toEqual(first.map(({ sha256 }) => sha256));
  });

  it('rewrites only the last part for changes at the end', async () => {
    const mirror = new Mirror();
    await mirror.night({ chunks: FIRST, gone: [], csv: CSV });
    const before = mirror.before!.parts.length;
    const { plan } = await mirror.night({ chunks: [range(60, 62)], gone: [], csv: CSV });
    expect(plan.tasks.map(({ kind }) => kind)).toEqual([...new Array(before - 1).fill('carry'), 'merge']);
  });

  it('rewrites every part for a new field or another delimiter', async () => {
    const mirror = new Mirror();
    await mirror.night({ chunks: FIRST, gone: [], csv: CSV });
    const field = await mirror.night({
      chunks: [[{ id: 'id-001', fields: [['new', '1']] }]],
      gone: [],
      csv: CSV,
    });
    expect(field.plan.tasks.every(({ kind }) => kind === 'merge')).toBe(true);
    const other = await mirror.night({ chunks: [], gone: [], csv: { ...CSV, delimiter: ';' } });
    expect(other.plan.tasks.every(({ kind }) => kind === 'merge')).toBe(true);
    expect(await mirror.read()).toEqual(sortedModel(mirror));
  });

  it('gives the same bytes for the same input', async () => {
    const nights: Night[] = [
      { chunks: [range(0, 40), range(20, 60)], gone: [], csv: CSV },
      { chunks: [[record(7, 'y')]], gone: ['id-009'], csv: CSV },
    ];
    const sums: string[][] = [];
    for (let time = 0; time < 2; time++) {
      const mirror = new Mirror();
      for (const night of nights) await mirror.night(night);
      sums.push(mirror.before!.parts.map(({ sha256 }) => sha256));
    }
    expect(sums[0]).toEqual(sums[1]);
  });
});

const PREFIX = rowPrefix('20261121T020000Z-00000001' as RunId, toUtcSeconds(0), null, CSV.delimiter);

describe('A staged chunk', () => {
  const buffered = (rows: readonly (readonly (string | null)[])[], profile = profileOf()) => {
    const buffer = new RowBuffer();
    const page = rows.map((cells) => cells.map((cell) => (cell === null ? null : bytes(cell))));
    expect(new RowWriter(profile, PREFIX).write(page, ['id', 'u', 'v'], buffer).keyless).toEqual([]);
    return buffer;
  };
  const columns = ['id', 'u', 'v'].map((name) => ({ name, types: 0, values: noFacts() }));
  const stage = async (
    buffer: RowBuffer,
    isNewer: ((a: ByteString, b: ByteString) => boolean | null) | null = null,
  ) => {
    const written = await writeChunk(lake.store, lake.newKey(), sortRows(buffer), columns, {
      profile: profileOf(),
      isNewer,
    });
    return { ...written, rows: (await readPart(lake.store, written.chunk.key)).map(({ cells }) => cells) };
  };

  it('is sorted by key and has each key once: the one that was fetched last', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(40), { minLength: 1, maxLength: 300 }), async (ids) => {
        const { rows, duplicates, chunk } = await stage(
          buffered(ids.map((id, at) => [`k${id}`, null, String(at)])),
        );
        const last = new Map(ids.map((id, at) => [`k${id}`, String(at)]));
        expect(rows).toEqual(
          [...last].sort(([a], [b]) => byKey(a, b)).map(([id, value]) => [id, null, value]),
        );
        expect(duplicates).toBe(ids.length - last.size);
        expect(chunk).toMatchObject({
          rows: last.size,
          first: rows[0]![0],
          last: rows.at(-1)![0],
          columns: 3,
        });
      }),
      { numRuns: rounds(30) },
    );
  });

  it('keeps the row that is newer by its "updated at" field, or the later one if the field does not decide', async () => {
    const isNewer = newerRows(1, profileOf().csv);
    const rows = [
      ['a', '2', 'x'],
      ['a', '1', 'y'],
      ['b', '1', 'x'],
      ['b', '1', 'y'],
      ['c', '9', 'x'],
      ['c', null, 'y'],
    ];
    expect((await stage(buffered(rows), isNewer)).rows).toEqual([
      ['a', '2', 'x'],
      ['b', '1', 'y'],
      ['c', null, 'y'],
    ]);
  });

  const notesOf = async (key: ObjectKey) => (await readPart(lake.store, key)).map(({ cells }) => cells[2]);

  it('has next to it, for a key with different rows, the one whose values sort first', async () => {
    const again = ['two', 'one', 'two'].map((note) => ['a', null, note]);
    const { rows, twins, duplicates } = await stage(buffered(again));
    expect(rows).toEqual([['a', null, 'two']]);
    expect(await Promise.all(twins.map(({ key }) => notesOf(key)))).toEqual([['one']]);
    expect(duplicates).toBe(2);
    expect((await stage(buffered(['one', 'one'].map((note) => ['a', null, note])))).twins).toEqual([]);
  });

  it('has a proof that a key is not unique from each page with different rows of it', async () => {
    const buffer = new RowBuffer();
    for (const page of [
      [['a', '9', 'one']],
      [
        ['a', '1', 'two'],
        ['a', '2', 'six'],
      ],
    ])
      buffer.addAll(buffered(page));
    const { twins, rows } = await stage(buffer, newerRows(1, profileOf().csv));
    expect(rows).toEqual([['a', '9', 'one']]);
    expect(twins).toMatchObject([{ rows: 1, isTwin: true, isProof: true }]);
  });

  it('has many blocks where rows are large, so that a merge can leave most of them alone', async () => {
    const { chunk, rows } = await stage(
      buffered(Array.from({ length: 600 }, (_, at) => [String(at + 1000), null, 'x'.repeat(1000)])),
    );
    expect(rows).toHaveLength(600);
    const { blocks } = await readIndex(lake.store, chunk.key);
    expect(blocks.length).toBeGreaterThan(7);
    for (const block of blocks.slice(1)) expect(block.rawBytes).toBeLessThan(80_000);
  });

  it('rejects a record whose key is missing, null or empty', () => {
    const buffer = new RowBuffer();
    const writer = new RowWriter(profileOf({ key: ['source', 'sourceKey'] }), '');
    const names = ['source', 'sourceKey'];
    const refused: Cells[] = [[], [bytes('a')], [null, bytes('b')], [bytes('a'), bytes('')], new Array(2)];
    const good = [bytes('0'), bytes('0')];
    const records = [...refused.slice(0, 2), good, ...refused.slice(2)];
    const { keyless } = writer.write(records, names, buffer);
    expect(keyless.map(({ at }) => at)).toEqual([0, 1, 3, 4, 5]);
    expect(keyless.map(({ cells }) => cells)).toEqual(refused);
    expect([buffer.rows, buffer.row(0)]).toEqual([1, '0,0\n']);
  });

  it('contains rows after masking and escaping, also in columns added later', () => {
    const buffer = new RowBuffer();
    const profile = profileOf({ columns: { mask: { v: 'redact' } }, csv: { escapeFormulas: true } });
    const writer = new RowWriter(profile, 'p,');
    writer.write([[bytes('1')]], ['id'], buffer);
    writer.write([[bytes('2'), bytes('=x'), bytes('secret')]], ['id', 'u', 'v'], buffer);
    writer.write([[bytes('3'), null, undefined], [bytes('4')]], ['id', 'u', 'v'], buffer);
    expect([0, 1, 2, 3].map((at) => buffer.row(at))).toEqual([
      'p,1\n',
      "p,2,'=x,[redacted]\n",
      'p,3,,\n',
      'p,4,,\n',
    ]);
    expect([0, 1, 2, 3].map((at) => buffer.width(at))).toEqual([1, 3, 3, 3]);
  });
});
