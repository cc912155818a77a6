import { afterEach, describe, expect, it } from 'vitest';
import type { ExportResult, MirrorStatus, RunReport } from '../../../src/core/contract/index.js';
import { requestRun } from '../../support/mirror-requests.js';
import { assertRowEquals } from '../../support/oracle.js';
import { startWorkerProcess } from '../../support/processes.js';
import { seededRandom } from '../../support/random.js';
import { rounds, SEED } from '../../support/seeds.js';
import { readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

const DAY = 24 * 60 * 60_000;
const ROUNDS = rounds(3);

/** The expected content of the lake: every record that was ever visible, in its newest visible version. */
class Model {
  readonly records = new Map<string, string>();
  readonly deleted = new Set<string>();

  /** Adds the current list of the service. */
  see(texts: readonly string[]): void {
    for (const text of texts) {
      const { id } = JSON.parse(text) as { id: string };
      this.records.set(id, text);
      this.deleted.delete(id);
    }
  }
}

describe(`random months (seed ${SEED})`, () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('give snapshots equal to the model after every export', async () => {
    const { share: random, below: pick } = seededRandom(SEED);
    stack = await startStack({
      simulator: { seed: SEED, now: Date.now(), counts: { tasks: 150, 'time-entries': 150 }, order: 'id' },
      resources: '[tasks, time-entries]',
      yaml: '    sync: { pageSize: 20, clock: service, reconcileEvery: never }\n',
    });
    const { admin } = stack.simulator;
    const models = { tasks: new Model(), 'time-entries': new Model() } as const;
    const resources = ['tasks', 'time-entries'] as const;
    let worker = await startWorkerProcess(stack);
    let kills = 0;
    let killing: Promise<void> | undefined;
    const kill = (): Promise<void> => {
      killing = (async () => {
        await worker.signal('SIGKILL');
        worker = await startWorkerProcess(stack);
        kills++;
      })();
      return killing;
    };
    const log: string[] = [];
    try {
      for (let round = 0; round < ROUNDS; round++) {
        admin.advance(pick(12) * DAY + pick(DAY));
        for (const resource of resources) change(resource);
        if (random() < 0.3)
          admin.faults.add({ match: { cursor: 'with' }, remaining: 2, fault: { kind: 'cursor-expired' } });
        if (random() < 0.3) {
          admin.faults.add({ probability: 0.1, remaining: 5, fault: { kind: 'reset-mid-body' } });
        }
        const reconcile = random() < 0.2;
        // A kill at a page that this run does not read hits a later run. The first run certainly requests a second page, but perhaps
        // no sixth: after an expired cursor, it reads in larger pages.
        const page = pick(6);
        if (round === 0) admin.beforeAnswer({ resource: 'tasks', page: Math.min(page, 1) }, kill);
        else if (random() < 0.4) admin.beforeAnswer({ resource: 'tasks', page }, kill);
        const result = await (reconcile ? reconcileAll() : stack.export({ full: random() < 0.25 }));
        await killing;
        admin.faults.clear();
        log.push(`${round}: ${reconcile ? 'reconcile' : 'export'} ${result.outcome}`);
        expect(result.outcome, log.join('\n')).toBe('published');
        for (const resource of resources) {
          const model = models[resource];
          model.see(admin.records(resource, 'listed'));
          if (reconcile && resource === 'tasks') concludeDeletes(model, admin.records(resource, 'listed'));
          await assertEquals(resource, model);
        }
      }
      expect(kills).toBeGreaterThan(0);
    } finally {
      await worker.signal('SIGKILL');
    }

    function change(resource: (typeof resources)[number]): void {
      const listed = admin.records(resource, 'listed').map((text) => (JSON.parse(text) as { id: string }).id);
      const date = new Date(admin.now() - pick(5) * DAY).toISOString();
      for (let n = pick(6); n > 0; n--)
        admin.create(resource, { name: `made ${n}`, startedAt: date, durationSeconds: 60 });
      if (listed.length > 0) {
        admin.touch(resource, { ids: Array.from({ length: pick(8) }, () => listed[pick(listed.length)]!) });
        if (random() < 0.3)
          admin.addField(resource, `field${pick(3)}`, '"later"', { count: 2, pick: 'spread' });
        // Deletes of windowed records are never detected, so the model keeps them in any case.
        if (random() < 0.5 && listed.length > 40) admin.remove(resource, [listed[pick(listed.length)]!]);
      }
    }

    function concludeDeletes(model: Model, listed: readonly string[]): void {
      const there = new Set(listed.map((text) => (JSON.parse(text) as { id: string }).id));
      for (const id of model.records.keys()) if (!there.has(id)) model.deleted.add(id);
    }

    async function assertEquals(resource: string, model: Model): Promise<void> {
      const { rows } = await readSnapshot(stack.store, resource);
      expect(rows.length).toBe(model.records.size);
      for (const row of rows) {
        const text = model.records.get(row.id!);
        if (text === undefined) throw new Error(`${resource}: the snapshot holds ${row.id}, which never was`);
        assertRowEquals(row, text);
        expect(row._deleted_at !== null, `${resource} ${row.id} is marked as deleted`).toBe(
          model.deleted.has(row.id!),
        );
      }
    }

    async function reconcileAll(): Promise<ExportResult> {
      const runs: RunReport[] = [];
      for (const resource of resources) {
        const mirror = stack.temporal.client.workflow.getHandle(stack.mirrorId(resource));
        const known = await mirror.query<MirrorStatus>('status').catch(() => null);
        if (known === null) return stack.export();
        runs.push(await requestRun(stack, resource, { mode: 'full', reconcile: true, allowDeletes: true }));
      }
      return { outcome: runs.every((run) => run.outcome === 'published') ? 'published' : 'failed', runs };
    }
  }, 600_000);
});
