import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseSettings } from '../../../src/config/index.js';
import type { RunId } from '../../../src/core/brands.js';
import type { ExportResult, RunReport } from '../../../src/core/contract/index.js';
import { haveSameRequest } from '../../../src/core/run-id.js';
import { readChain } from '../../../src/lake/published/chain.js';
import { DEMO_KEY } from '../../../src/simulator/index.js';
import { startBackfill, startRollback } from '../../../src/temporal/client/start.js';
import { type FaultyS3, startFaultyS3 } from '../../support/faulty-s3.js';
import { type LateRequest, type LateRequests, startLateRequests } from '../../support/late-requests.js';
import { assertRowEquals } from '../../support/oracle.js';
import type { Random } from '../../support/random.js';
import { sharedS3 } from '../../support/shared-s3.js';
import { readPointer, readSnapshot, readTree } from '../../support/snapshot.js';
import { resultOf, type Stack, startStack } from '../../support/stack.js';
import { fileIn, writeBack } from '../../support/write-back.js';

export const RESOURCES = ['projects', 'tasks', 'time-entries'] as const;
export type MixedResource = (typeof RESOURCES)[number];

const PAGE = 20;
const COUNTS = { projects: 60, tasks: 160, 'time-entries': 160 };

/** A connection with lists that shift while they are read, and with faults of the store and the API key. */
export interface MixedWorld {
  readonly stack: Stack;
  readonly s3: FaultyS3;
  /** Holds back a write to the store and delivers it late. */
  readonly late: LateRequests;
  /** Carries out a write that was held back. */
  deliver(held: LateRequest): Promise<void>;
  /** Creates, changes and deletes some records of each resource. */
  changeSomething(random: Random): void;
  /** Deletes a record at the service. */
  remove(resource: MixedResource, id: string): void;
  /** Changes some records between two pages of the next read. */
  shiftDuringRead(resource: MixedResource, random: Random): void;
  /** Advances the service's clock, so that the overlap does not hide a record that a read has missed. */
  passTime(): void;
  export(full?: boolean): Promise<ExportResult>;
  backfill(resource: MixedResource, reconcile: boolean): Promise<ExportResult>;
  rollback(resource: MixedResource, to: RunId): Promise<ExportResult>;
  /** Runs that are on the chain of a resource and whose snapshots are kept, newest first. */
  runs(resource: MixedResource): Promise<RunId[]>;
  /** Takes the API key's file away, and puts it back. */
  hideKey(): Promise<void>;
  showKey(): Promise<void>;
  /** Writes time entries back and keeps their descriptions. */
  writeBack(random: Random): Promise<void>;
  /** Ends all faults. */
  calm(): void;
  /** Exports until every resource is published, and returns the reports of the last runs. */
  settle(): Promise<readonly RunReport[]>;
  /** Compares every snapshot with the service. Returns whether a difference was covered by a warning. */
  check(runs: readonly RunReport[]): Promise<boolean>;
  /**
   * The newest row of each key over all published change logs is the snapshot's row. Change logs of other runs are gone. One
   * of an attempt or of a failed run whose last write arrived late may stay until the next daily sweep.
   */
  checkChangeLogs(strays: 'late' | 'none'): Promise<void>;
  /** Checks that the service has no written row twice, and every row with a receipt. */
  checkWrites(): void;
  reconcile(): Promise<void>;
  stop(): Promise<void>;
}

export async function startMixedWorld(seed: number): Promise<MixedWorld> {
  const access = sharedS3();
  const late = await startLateRequests(access.endpoint);
  const s3 = await startFaultyS3({ ...access, endpoint: late.url });
  const stack = await startStack({
    s3Endpoint: s3.url,
    simulator: { seed, awkward: false, counts: COUNTS, order: 'updatedAt', cursorStyle: 'offset' },
    resources: '[projects, tasks, time-entries]',
    yaml: `    sync: { pageSize: ${PAGE}, clock: service, overlap: 1s }\n    retries: { giveUpAfter: 5s }\n    http: { headersTimeout: 2s, bodyTimeout: 2s }\n`,
  });
  const keyFile = join(stack.folder, 'api-key');
  const hidden = `${keyFile}.hidden`;
  await writeFile(keyFile, DEMO_KEY, { mode: 0o600 });
  const yaml = (await readFile(stack.configFile, 'utf8')).replace(
    '{ env: WORKTRACK_API_KEY }',
    `{ file: ${keyFile} }`,
  );
  await writeFile(stack.configFile, yaml);
  await stack.startWorker(parseSettings(yaml, stack.configFile));
  const { admin } = stack.simulator;
  const removed = new Map<string, Set<string>>(RESOURCES.map((name) => [name, new Set()]));
  const written = new Set<string>();
  const mayBeMissing = new Set<string>();
  const lateRuns = new Set<RunId>();
  /** How often faults were ended. */
  let calms = 0;
  let batches = 0;

  const idsOf = (resource: string): string[] =>
    admin.records(resource).map((text) => (JSON.parse(text) as { id: string }).id);
  const remove = (resource: MixedResource, id: string): void => {
    admin.remove(resource, [id]);
    removed.get(resource)!.add(id);
  };
  const change = (resource: MixedResource, random: Random): void => {
    const ids = idsOf(resource);
    const some = (most: number): string[] => [
      ...new Set(Array.from({ length: random.below(most) }, () => random.pick(ids))),
    ];
    admin.touch(resource, { ids: some(12) });
    for (let n = random.below(3); n > 0; n--) admin.create(resource, { name: `made ${random.below(1e9)}` });
    for (const id of random.share() < 0.3 ? some(3) : []) remove(resource, id);
  };
  const resultOfWorkflow = (id: string): Promise<ExportResult> =>
    stack.temporal.client.workflow.getHandle(id).result().catch(resultOf) as Promise<ExportResult>;
  const { connection, temporal, taskQueue } = stack;

  const world: MixedWorld = {
    stack,
    s3,
    late,
    async deliver(held) {
      const run = /\/run(?:=|%3D)([^/?]+)/.exec(held.url)?.[1];
      if (run !== undefined) lateRuns.add(run as RunId);
      await held.deliver();
    },
    changeSomething(random) {
      for (const resource of RESOURCES) change(resource, random);
      world.passTime();
    },
    remove,
    shiftDuringRead(resource, random) {
      const during = calms;
      for (let n = 0; n < 3; n++)
        admin.beforeAnswer({ resource, page: 1 + random.below(6) }, () => {
          // A shorter list has no such page, so a later read would meet the change.
          if (during !== calms) return;
          admin.touch(resource, { count: 5 + random.below(10), pick: 'spread' });
          change(resource, random);
        });
    },
    passTime: () => admin.advance(60_000),
    export: (full = false) => stack.export({ full }),
    async backfill(resource, reconcile) {
      return resultOfWorkflow(
        await startBackfill(
          temporal,
          // The rounds before may have deleted more than one run may delete.
          { connection, resources: [resource], reconcile, allowDeletes: true },
          { taskQueue },
        ),
      );
    },
    async rollback(resource, to) {
      return resultOfWorkflow(await startRollback(temporal, { connection, resource, to }, { taskQueue }));
    },
    async runs(resource) {
      const runs: RunId[] = [];
      for await (const { runId } of readChain(stack.store, await readPointer(stack.store, resource)))
        runs.push(runId);
      return runs;
    },
    hideKey: () => rename(keyFile, hidden),
    showKey: () => rename(hidden, keyFile),
    async writeBack(random) {
      const name = `batch ${batches++}`;
      const count = 5 + random.below(20);
      const rows = Array.from({ length: count }, (_, n) => `${name} row ${n}`);
      const lines = rows.map(
        (text) => `${text},600,${new Date(admin.now()).toISOString().slice(0, 19)}Z,true`,
      );
      const file = await fileIn(
        stack,
        ['description,durationSeconds:integer,startedAt,billable:boolean', ...lines, ''].join('\n'),
      );
      for (const text of rows) written.add(text);
      const result = await writeBack(stack, { resource: 'time-entries', file });
      if (result.outcome !== 'written') for (const text of rows) mayBeMissing.add(text);
    },
    calm() {
      calms++;
      late.reconnect();
      admin.faults.clear();
      s3.clear();
    },
    async settle() {
      for (let tries = 0; ; tries++) {
        world.passTime();
        const { outcome, runs } = await stack.export();
        if (outcome === 'published') return runs;
        if (tries === 3) throw new Error(`the export still fails: ${JSON.stringify(runs)}`);
      }
    },
    async check(runs) {
      let warned = false;
      for (const resource of RESOURCES) {
        const expected = new Map(
          admin.records(resource).map((text) => [(JSON.parse(text) as { id: string }).id, text]),
        );
        const { rows } = await readSnapshot(stack.store, resource);
        const byId = new Map(rows.map((row) => [row.id!, row]));
        if (byId.size !== rows.length) throw new Error(`${resource}: a key is in the snapshot twice`);
        const problems: string[] = [];
        for (const [id, text] of expected) {
          const row = byId.get(id);
          if (row === undefined) problems.push(`${id} is missing`);
          else {
            try {
              assertRowEquals(row, text);
              if (row._deleted_at !== null) problems.push(`${id} is marked as deleted`);
            } catch (error) {
              problems.push(`${id} is stale: ${(error as Error).message}`);
            }
          }
        }
        for (const id of byId.keys())
          if (!expected.has(id) && !removed.get(resource)!.has(id))
            problems.push(`${id} was never at the service`);
        if (problems.length === 0) continue;
        const warnings = runs.find((run) => run.resource === resource)?.warnings ?? [];
        if (!warnings.some((text) => /shift|moved|taken over|missing/.test(text)))
          throw new Error(
            `${resource}: ${problems.length} problems without a warning: ${problems.slice(0, 5).join('; ')}`,
          );
        warned = true;
      }
      return warned;
    },
    async checkChangeLogs(strays) {
      for (const resource of RESOURCES) {
        const newest = new Map<string, Record<string, string | null>>();
        const logs: string[] = [];
        for await (const { key } of stack.store.list(`${resource}/changes/`))
          if (key.endsWith('/_datapackage.json')) logs.push(key);
        logs.sort();
        const published = new Set<string>(await world.runs(resource));
        const runOf = (key: string) => /run=([^/]+)/.exec(key)![1] as RunId;
        const isLate = (id: RunId) =>
          lateRuns.has(id) || [...published].some((one) => haveSameRequest(one as RunId, id));
        const stray = logs.find(
          (key) => !published.has(runOf(key)) && (strays === 'none' || !isLate(runOf(key))),
        );
        if (stray !== undefined) throw new Error(`${stray} is visible, and its run is not on the chain`);
        for (const key of logs.filter((one) => published.has(runOf(one))))
          for (const row of (await readTree(stack.store, key as never)).rows) {
            const before = newest.get(row.id!);
            if (before === undefined || before._run_id! < row._run_id!) newest.set(row.id!, row);
          }
        const { rows } = await readSnapshot(stack.store, resource);
        for (const row of rows) {
          const log = newest.get(row.id!);
          if (log?._run_id !== row._run_id)
            throw new Error(
              `${resource}: the newest row of ${row.id} in the change logs is of ${log?._run_id}, the snapshot's of ${row._run_id}`,
            );
          newest.delete(row.id!);
        }
        if (newest.size > 0) throw new Error(`${resource}: ${newest.size} keys are in the change logs alone`);
      }
    },
    checkWrites() {
      const seen = new Map<string, number>();
      for (const text of admin.records('time-entries', 'ever')) {
        const { description } = JSON.parse(text) as { description?: string };
        if (description !== undefined) seen.set(description, (seen.get(description) ?? 0) + 1);
      }
      for (const text of written) {
        const times = seen.get(text) ?? 0;
        if (times > 1) throw new Error(`"${text}" is at the service ${times} times`);
        if (times === 0 && !mayBeMissing.has(text))
          throw new Error(`"${text}" has a receipt and is not at the service`);
      }
    },
    async reconcile() {
      for (const resource of ['projects', 'tasks'] as const) {
        const result = await world.backfill(resource, true);
        if (result.outcome !== 'published') throw new Error(JSON.stringify(result.runs));
        const live = (await readSnapshot(stack.store, resource)).rows.filter(
          (row) => row._deleted_at === null,
        );
        const ids = new Set(idsOf(resource));
        const odd = live.filter((row) => !ids.has(row.id!));
        if (odd.length > 0)
          throw new Error(`${resource}: ${odd.length} deleted records are live in the snapshot`);
      }
      const { outcome, runs } = await world.backfill('time-entries', false);
      if (outcome !== 'published') throw new Error(JSON.stringify(runs));
    },
    async stop() {
      await stack.stop();
      await s3.close();
      await late.close();
      await rm(hidden, { force: true });
    },
  };
  return world;
}
