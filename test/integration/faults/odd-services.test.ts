import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../../src/cli/shared/choose-exit-code.js';
import { parseSettings } from '../../../src/config/index.js';
import { type ExportResult, mirrorWorkflowId } from '../../../src/core/contract/index.js';
import { type ObjectStore, openStore } from '../../../src/lake/store/index.js';
import { DEMO_KEY, ODD_SERVICES, type Simulator, startSimulator } from '../../../src/simulator/index.js';
import { type Expected, ODD_CASES, type OddCase } from '../../support/odd/index.js';
import { assertRowEquals } from '../../support/oracle.js';
import { shortenBackOffs } from '../../support/short-waits.js';
import { readSnapshot } from '../../support/snapshot.js';
import { OWN_THREAD, resultOf, type Stack, startStack } from '../../support/stack.js';

shortenBackOffs();

const NAMES = ODD_CASES.map(({ odd, title }) => [...odd, ...(title === undefined ? [] : [title])].join(', '));

/** What one run left. */
interface Outcome {
  readonly result: ExportResult;
  /** The rows of the snapshot of `tasks` that are not deleted; null without a snapshot. */
  readonly rows: readonly Record<string, string | null>[] | null;
  /** The tasks of the service after the run, by id. */
  readonly records: ReadonlyMap<string, string>;
}

/** Each odd service is a connection of one worker. All are exported side by side, and each test waits for its own. */
describe('an export, two increments and a reconcile of an odd service', () => {
  let stack: Stack;
  const simulators: Simulator[] = [];
  const outcomes = new Map<string, Promise<Outcome[]>>();

  beforeAll(async () => {
    stack = await startStack({ resources: '[tasks]' });
    for (const { odd, simulator } of ODD_CASES)
      simulators.push(await startSimulator({ counts: { tasks: 30 }, awkward: false, ...simulator, odd }));
    const keyFileOf = (at: number): string => join(stack.folder, `key-${at}`);
    for (const [at, { hasKeyFile }] of ODD_CASES.entries())
      if (hasKeyFile) writeFileSync(keyFileOf(at), DEMO_KEY);
    const yaml = ODD_CASES.map(
      (one, at) => `  ${connectionOf(at)}:
    baseUrl: ${simulators[at]!.url}
    apiKey: ${one.hasKeyFile ? `{ file: "${keyFileOf(at)}" }` : '{ env: WORKTRACK_API_KEY }'}
    lake: { url: "${pathToFileURL(join(stack.folder, connectionOf(at)))}" }
    resources: ${one.resources ?? '[tasks]'}
${one.yaml ?? '    sync: { pageSize: 10 }\n'}`,
    );
    const settings = parseSettings(`connections:\n${yaml.join('')}`, 'odd.yaml');
    // Most of them wait for the service, so many may do so at the same time.
    const limits = { maxConcurrentActivities: 64, maxActivityMemoryBytes: 4 * 2 ** 30 };
    await stack.startWorker(settings, { ...limits, ...OWN_THREAD });
    ODD_CASES.forEach((one, at) => {
      const { lake } = settings.connections[at]!;
      const service = { simulator: simulators[at]!, keyFile: keyFileOf(at) };
      const outcome = runAll(stack, one, at, openStore(lake), service);
      outcome.catch(() => {});
      outcomes.set(NAMES[at]!, outcome);
    });
  });
  afterAll(async () => {
    const mirrors = ODD_CASES.map((_, at) => mirrorWorkflowId(connectionOf(at), 'tasks'));
    const end = (id: string) => stack.temporal.client.workflow.getHandle(id).terminate('end of the test');
    await Promise.all(mirrors.map((id) => end(id).catch(() => {})));
    await stack?.stop();
    await Promise.all(simulators.map((simulator) => simulator.close()));
  });

  it.each(ODD_CASES.map((one, at) => [NAMES[at]!, one] as const))(
    '%s',
    async (name, { runs }) => {
      const found = await outcomes.get(name)!;
      for (const [run, outcome] of found.entries())
        expectOutcome(outcome, runs?.[run] ?? (runs?.[2].exit === undefined ? {} : runs[2]));
    },
    900_000,
  );

  it('is tried for every odd service', () => {
    const tried = new Set(ODD_CASES.flatMap(({ odd }) => odd));
    expect(ODD_SERVICES.map(({ name }) => name).filter((name) => !tried.has(name))).toEqual([]);
    expect(new Set(NAMES).size).toBe(NAMES.length);
  });
});

const connectionOf = (at: number): string => `odd-${at}`;

async function runAll(
  { temporal, taskQueue }: Stack,
  { change = changeOneAddOne, request }: OddCase,
  at: number,
  store: ObjectStore,
  { simulator, keyFile }: { readonly simulator: Simulator; readonly keyFile: string },
): Promise<Outcome[]> {
  const found: Outcome[] = [];
  for (const run of [1, 2, 3, 4] as const) {
    if (run === 4) removeLast(simulator);
    else if (run !== 1) change(simulator, run, keyFile);
    const asked = run === 4 ? { reconcile: true } : request?.(run);
    const result = await exportOnce(temporal, taskQueue, { connection: connectionOf(at), ...asked }, run);
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
  store.close();
  return found;
}

async function exportOnce(
  temporal: Stack['temporal'],
  taskQueue: string,
  input: { readonly connection: string },
  run: number,
): Promise<ExportResult> {
  const workflowId = `worktrack/${input.connection}/export/${run}`;
  const handle = await temporal.client.workflow.start('exportWorkflow', {
    workflowId,
    taskQueue,
    args: [input],
  });
  return handle.result().catch(resultOf) as Promise<ExportResult>;
}

function expectOutcome({ result, rows, records }: Outcome, expected: Expected): void {
  const run = result.runs.find(({ resource }) => resource === 'tasks')!;
  expect(exitCodeOf(result), JSON.stringify(result.runs)).toBe(expected.exit ?? 0);
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
