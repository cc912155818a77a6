import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { parseSettings } from '../../src/config/index.js';
import type { RunId } from '../../src/core/brands.js';
import type { CsvSettings, LakeSettings } from '../../src/core/settings.js';
import { type PublishedSnapshot, readPublished } from '../../src/lake/published/read-published.js';
import { readTableColumns, type TableColumn } from '../../src/table/index.js';
import { startRollback } from '../../src/temporal/client/start.js';
import { reconcile } from '../support/mirror-requests.js';
import { assertCellsEqual, expectedCells, restored } from '../support/oracle.js';
import { type ReadTree, readSnapshot } from '../support/snapshot.js';
import { type Stack, startStack } from '../support/stack.js';

export const STEPS = [
  'full export',
  'new columns and types',
  'deletes',
  'changed settings',
  'rollback',
] as const;

/** A lake to create. All have Delta tables. */
export interface LakeSpec {
  /** Name of its only resource, which has the records of the list `tasks`. */
  readonly resource: string;
  readonly place: 's3' | 'folder';
  /** Options of the resource in YAML, until the step "changed settings" and from then on. */
  readonly csv: string;
  readonly changed: string;
  /** Whether copies of parts under other names lie next to them, as programs that synchronize folders leave them. */
  readonly hasForeign?: true;
  /** Columns to add in the first step, so that the files of a table are joined from those of several groups of columns. */
  readonly addedColumns?: number;
}

export const LAKES: readonly LakeSpec[] = [
  {
    resource: 's3-gzip',
    place: 's3',
    csv: 'csv: {}',
    changed: 'csv: { compression: none, lineBreaks: escape }',
    hasForeign: true,
  },
  {
    ...{ resource: 's3-plain', place: 's3', csv: 'csv: { compression: none }' },
    changed: 'csv: { compression: gzip }, columns: { mask: { title: hash } }',
  },
  {
    ...{ resource: 's3-escape', place: 's3', csv: 'csv: { lineBreaks: escape }' },
    changed: 'csv: { lineBreaks: escape, compression: none }',
  },
  {
    ...{ resource: 's3-wide', place: 's3', csv: 'csv: {}', addedColumns: 130 },
    changed: 'csv: { compression: none, lineBreaks: escape }',
  },
  {
    ...{ resource: 'folder-gzip', place: 'folder', csv: 'csv: {}' },
    changed: 'csv: { partSize: 32KiB }',
    hasForeign: true,
  },
  {
    ...{ resource: 'folder-flatten', place: 'folder', csv: 'csv: { compression: none, nested: flatten }' },
    changed: 'csv: { compression: gzip, nested: flatten, lineBreaks: escape }',
  },
];

/** What a reader must find after a step. */
export interface Expected {
  /** The values of each record by the name of the column, as the service sent them last; masked where the settings say so. */
  readonly served: ReadonlyMap<string, ReadonlyMap<string, string | null>>;
  readonly published: PublishedSnapshot;
  readonly tree: ReadTree;
  readonly columns: readonly TableColumn[];
  readonly masked: readonly string[];
}

/** A lake with a copy of each step. */
export interface RecordedLake {
  readonly spec: LakeSpec;
  readonly lake: LakeSettings;
  readonly steps: readonly Expected[];
  /** Puts the lake back to the state after a step. */
  restore(step: number): Promise<void>;
}

export interface RecordedLakes {
  readonly lakes: readonly RecordedLake[];
  remove(): Promise<void>;
}

/** Creates lakes and takes each through five steps. */
export async function recordLakes(specs: readonly LakeSpec[], rows = 150): Promise<RecordedLakes> {
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-lakes-'));
  const lakes: RecordedLake[] = [];
  for (const spec of specs) lakes.push(await record(spec, folder, rows));
  return { lakes, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Copies each part of the folder `$0` to a name that no run writes. */
const COPY_PARTS = `find "$0" -name 'part-*.csv*' -type f -exec sh -c 'for part; do cp -a "$part" "\${part%.csv*} (conflict).csv\${part##*.csv}"; done' copy {} +`;

async function record(spec: LakeSpec, folder: string, rows: number): Promise<RecordedLake> {
  const { resource, place } = spec;
  const options = { simulator: { seed: 77, awkwardEvery: 3, counts: { tasks: rows } } };
  const stack = await startStack({
    s3: true,
    ...options,
    resources: resourceYaml(spec, 'csv'),
    yaml: '    deletes: mark\n    tables: { format: delta }\n    sync: { overlap: 1s }\n',
    ...(place === 's3' ? {} : { lakeUrl: pathToFileURL(join(folder, 'lakes', resource)).href }),
  });
  try {
    const steps: Expected[] = [];
    const copies = join(folder, 'steps', resource);
    for (const take of stepsOf(stack, spec)) {
      await take();
      const to = join(copies, String(steps.length));
      // Unlike Node's copy, it copies extended attributes, where the S3 server keeps metadata.
      await run('sh', ['-c', 'mkdir -p "$1" && cp -a "$0/." "$1"', stack.lakeFolder, to]);
      if (spec.hasForeign) await run('sh', ['-c', COPY_PARTS, to]);
      const published = await readPublished(stack.store, resource);
      const tree = await readSnapshot(stack.store, resource);
      const masked = steps.length >= 3 && spec.changed.includes('title: hash') ? ['title'] : [];
      const served = servedBy(stack, spec, masked);
      checkTree(tree, served, published.manifest.csv);
      const columns = (await readTableColumns(stack.store, resource)) ?? [];
      steps.push({ served, published, tree, columns, masked });
    }
    const restore = async (step: number): Promise<void> => {
      const from = join(copies, String(step));
      await run('sh', ['-c', 'rm -rf "$1" && mkdir -p "$1" && cp -a "$0/." "$1"', from, stack.lakeFolder]);
    };
    return { spec, lake: stack.settings.connections[0]!.lake, steps, restore };
  } finally {
    await stack.stop();
  }
}

/** The newest version of every record, deleted ones included: each step publishes all changes. */
function servedBy({ simulator }: Stack, { csv }: LakeSpec, masked: readonly string[]): Expected['served'] {
  const separator = csv.includes('flatten') ? '.' : null;
  return new Map(
    simulator.admin.records('tasks', 'ever').map((record) => {
      const cells = expectedCells(record, separator);
      for (const name of masked) {
        const value = cells.get(name) ?? null;
        if (value !== null) cells.set(name, createHash('sha256').update(value).digest('hex'));
      }
      return [cells.get('id')!, cells];
    }),
  );
}

/** Checks that the files have the service's values, once the documented escapes are undone. */
function checkTree(
  { header, rows }: ReadTree,
  served: Expected['served'],
  { lineBreaks }: Pick<CsvSettings, 'lineBreaks'>,
): void {
  for (const row of rows) {
    const values = header.map((name): [string, string | null] => {
      const cell = row[name] ?? null;
      return [restored(name, { lineBreaks }), cell === null ? null : restored(cell, { lineBreaks })];
    });
    assertCellsEqual(Object.fromEntries(values), served.get(row.id!)!);
  }
}

const WIDE_VALUES = ['7', '12.50', 'true', '"2026-11-21T02:00:00.123Z"', '"text, \\"quoted\\""'];

const run = promisify(execFile);

function resourceYaml({ resource, ...spec }: LakeSpec, when: 'csv' | 'changed'): string {
  return `[{ name: ${resource}, path: tasks, ${spec[when]} }]`;
}

/** The steps of a lake, in order. */
function stepsOf(stack: Stack, spec: LakeSpec): (() => Promise<void>)[] {
  const { admin } = stack.simulator;
  let worker: { stop(): Promise<void> };
  let second: RunId;
  const publish = async (): Promise<RunId> => {
    const { outcome, runs } = await stack.export();
    const problems = runs.flatMap(({ error, warnings }) => [
      error,
      ...warnings.filter((text) => /^table/.test(text)),
    ]);
    if (outcome !== 'published' || problems.some((problem) => problem))
      throw new Error(`${spec.resource} was not published: ${JSON.stringify(problems)}`);
    return runs[0]!.runId as RunId;
  };
  const add = (name: string, value: string, count: number): void =>
    void admin.addField('tasks', name, value, { count, pick: 'spread' });
  return [
    async () => {
      worker = await stack.startWorker();
      add('changes type', '7', 5);
      for (let at = 0; at < (spec.addedColumns ?? 0); at++)
        add(`added ${at}`, WIDE_VALUES[at % WIDE_VALUES.length]!, 20);
      await publish();
    },
    async () => {
      add('dueAt', '"2026-11-21T02:00:00.123+01:00"', 9);
      add('exactAt', '"2026-11-21T02:00:00.123456Z"', 4);
      add('amount', '12.50', 9);
      add('large', '9223372036854775808', 3);
      add('ledger', '123456789012345678901234567890', 4);
      add('day', '"2026-02-28"', 4);
      add('changes type', '"seven"', 3);
      second = await publish();
    },
    async () => {
      const ids = admin.records('tasks', 'listed').map((text) => (JSON.parse(text) as { id: string }).id);
      admin.remove('tasks', ids.slice(3, 8));
      add('amount', '0.125', 2);
      const report = await reconcile(stack, spec.resource);
      if (report.counts?.deleted !== 5) throw new Error(`${spec.resource}: ${JSON.stringify(report)}`);
    },
    async () => {
      await worker.stop();
      const before = readFileSync(stack.configFile, 'utf8');
      const changed = before.replace(resourceYaml(spec, 'csv'), resourceYaml(spec, 'changed'));
      await stack.startWorker(parseSettings(changed, stack.settings.source));
      admin.touch('tasks', { count: 5, pick: 'spread' });
      await publish();
    },
    async () => {
      const { taskQueue, temporal, connection } = stack;
      const { resource } = spec;
      const id = await startRollback(temporal, { connection, resource, to: second }, { taskQueue });
      await temporal.client.workflow.getHandle(id).result();
      admin.touch('tasks', { count: 3, pick: 'spread' });
      await publish();
    },
  ];
}
