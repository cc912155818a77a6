import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import { exitCodeOf } from '../../../src/cli/shared/choose-exit-code.js';
import type { ExportResult, RunReport } from '../../../src/core/contract/index.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import { DEMO_KEY, type Simulator, startSimulator } from '../../../src/simulator/index.js';
import { assertRowEquals } from '../oracle.js';
import { readSnapshot } from '../snapshot.js';
import type { Expected, OddCase } from './odd-case.js';

/** What one run of `tasks` left. */
interface Outcome {
  /** Of the export; the runs of other resources may be missing. */
  readonly result: OddResult;
  /** The rows of the snapshot of `tasks` that are not deleted; null without a snapshot. */
  readonly rows: readonly Record<string, string | null>[] | null;
  /** The tasks of the service after the run, by id. */
  readonly records: ReadonlyMap<string, string>;
}

export interface OddResult extends Pick<ExportResult, 'outcome'> {
  readonly runs: readonly Pick<RunReport, 'resource' | 'outcome' | 'error' | 'warnings'>[];
}

/** An export with the request of a case. */
export type OddRequest = ReturnType<NonNullable<OddCase['request']>>;

interface Place {
  readonly simulator: Simulator;
  readonly keyFile: string;
  readonly store: ObjectStore;
  exportOnce(request: OddRequest, run: number): Promise<OddResult>;
}

/** The name of a case in a table of tests. */
export function oddName({ odd, title }: OddCase): string {
  return [...odd, ...(title === undefined ? [] : [title])].join(', ');
}

export function startOdd({ odd, simulator }: OddCase): Promise<Simulator> {
  return startSimulator({ counts: { tasks: 30 }, awkward: false, ...simulator, odd });
}

interface Where {
  readonly url: string;
  readonly lake: string;
  readonly keyFile: string;
}

/** The connection of a case as YAML. It writes the file of the API key, if the case has one. */
export function oddConnection(one: OddCase, name: string, { url, lake, keyFile }: Where): string {
  if (one.hasKeyFile) writeFileSync(keyFile, DEMO_KEY);
  return `  ${name}:
    baseUrl: ${url}
    apiKey: ${one.hasKeyFile ? `{ file: "${keyFile}" }` : '{ env: WORKTRACK_API_KEY }'}
    lake: { url: "${pathToFileURL(lake)}" }
    resources: ${one.resources ?? '[tasks]'}
${one.yaml ?? '    sync: { pageSize: 10 }\n'}`;
}

/** An export, two increments and a reconcile. */
export async function runOdd(
  { change = changeOneAddOne, request }: OddCase,
  { simulator, keyFile, store, exportOnce }: Place,
): Promise<Outcome[]> {
  const found: Outcome[] = [];
  for (const run of [1, 2, 3, 4] as const) {
    if (run === 4) removeLast(simulator);
    else if (run !== 1) change(simulator, run, keyFile);
    const asked = run === 4 ? { reconcile: true } : (request?.(run) ?? {});
    const result = await exportOnce(asked, run);
    const isPublished = (await store.readIfExists('tasks/latest.json' as never)) !== null;
    const rows = isPublished ? (await readSnapshot(store, 'tasks')).rows : null;
    const records = simulator.admin
      .records('tasks')
      .map((text) => [JSON.parse(text).id as string, text] as const);
    found.push({
      result,
      rows: rows?.filter((row) => row._deleted_at === null) ?? null,
      records: new Map(records),
    });
  }
  return found;
}

/** Whether the four runs of a case led to what they must lead to. */
export function expectOutcomes({ runs }: OddCase, found: readonly Outcome[]): void {
  expect(found).toHaveLength(4);
  for (const [run, outcome] of found.entries())
    expectOutcome(outcome, runs?.[run] ?? (runs?.[2].exit === undefined ? {} : runs[2]));
}

function expectOutcome({ result, rows, records }: Outcome, expected: Expected): void {
  const run = result.runs.find(({ resource }) => resource === 'tasks')!;
  expect(exitCodeOf(result as ExportResult), JSON.stringify(result.runs)).toBe(expected.exit ?? 0);
  if (expected.says !== undefined) expect(run.error?.message).toMatch(expected.says);
  if (expected.warns !== undefined) expect(run.warnings.join('\n')).toMatch(expected.warns);
  const { rows: wanted = 'same' } = expected;
  if (wanted === 'none') {
    expect(rows).toBeNull();
    return;
  }
  expect(rows, JSON.stringify(result.runs)).not.toBeNull();
  if (typeof wanted === 'number') expect(rows).toHaveLength(wanted);
  else {
    expect(rows!.map((row) => row.id).sort()).toEqual([...records.keys()].sort());
    for (const row of rows!) assertRowEquals(row, records.get(row.id!)!);
  }
}

/** A delete for the reconcile to find. */
function removeLast({ admin }: Simulator): void {
  const last = admin.records('tasks').at(-1);
  if (last !== undefined) admin.remove('tasks', [JSON.parse(last).id as string]);
}

/** A change for an increment to find. */
function changeOneAddOne({ admin }: Simulator): void {
  const [id] = admin.records('tasks').map((text) => JSON.parse(text).id as string);
  admin.update('tasks', id!, { name: `Changed at ${admin.now()}` });
  admin.create('tasks', { name: 'New' });
}
