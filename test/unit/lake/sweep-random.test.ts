import { describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import { type ListedRun, readKnownRuns } from '../../../src/lake/published/chain.js';
import {
  needsMore,
  planSweep,
  type SweepFacts,
  toRunFolders,
  toStagedFolders,
  unknownComplete,
} from '../../../src/lake/published/sweep-plan.js';
import { type Random, seededRandom } from '../../support/random.js';
import { seeds } from '../../support/seeds.js';

const SEEDS = seeds(40);
const HOUR = 3_600_000;
/** Short, so that the chain is longer than a list. */
const LISTED = 3;
const SNAPSHOTS_MS = 72 * HOUR;

/** What really happened to a run. */
interface Run {
  readonly id: RunId;
  readonly date: string;
  readonly listed: ListedRun;
  /** The version of the pointer that it read. */
  readonly base: number;
  readonly writer: number;
  wasPublished: boolean;
  /** Its swap was sent and may still arrive. */
  isPending: boolean;
}

interface Trouble {
  /** Manifests and pointers are lost. */
  readonly losses: boolean;
  /** The ids of runs say nothing about their order. */
  readonly ids: 'in order' | 'at random';
  readonly purges: boolean;
}

/** A store, the mirrors that write to it, and what a person can do to it. */
class World {
  /** Milliseconds since 1970. The store shows whole seconds. */
  clock = Date.parse('2026-03-01T00:00:00Z');
  readonly objects = new Map<string, number>();
  readonly runs: Run[] = [];
  pointer: { version: number; run: Run | null } = { version: 0, run: null };
  /** The last run that the current mirror knows as published. */
  known: Run | null = null;
  writer = 0;
  removals = 0;
  hasLost = false;

  constructor(
    readonly random: Random,
    readonly trouble: Trouble,
  ) {}

  tick(): void {
    this.clock += this.random.pick([0, 300, 1000, HOUR, 9 * HOUR]);
  }

  write(key: string): void {
    this.objects.set(key, Math.floor(this.clock / 1000) * 1000);
  }

  begin(): Run {
    const { random, known } = this;
    const { run: base, version } = this.pointer;
    const time = this.trouble.ids === 'in order' ? this.clock : Date.parse('2026-01-01') + random.below(1e10);
    const stamp = new Date(time).toISOString().replace(/[-:]|\.\d+/g, '');
    const id = `${stamp}-${String(this.runs.length).padStart(8, '0')}` as RunId;
    const leftBehind = [...(base?.listed.leftBehind ?? [])];
    if (known !== null && !this.#ancestors(base).includes(known.id)) leftBehind.unshift(known.id);
    const previousRuns = base === null ? [] : [base.listed, ...base.listed.previousRuns].slice(0, LISTED);
    const date = new Date(this.clock).toISOString().slice(0, 10);
    const listed = {
      ...{ runId: id, publishedAt: this.clock, leftBehind },
      previousRuns: previousRuns.map(({ runId, publishedAt }) => ({ runId, publishedAt })),
    };
    const facts = { base: version, writer: this.writer, wasPublished: false, isPending: false };
    const run: Run = { id, date, listed, ...facts };
    this.runs.push(run);
    return run;
  }

  /** Every run before and including a run, by what the runs themselves read. */
  #ancestors(run: Run | null): RunId[] {
    const ids: RunId[] = [];
    for (let at = run; at !== null && at !== undefined; ) {
      ids.push(at.id);
      const previous = at.listed.previousRuns[0]?.runId;
      at = this.runs.find(({ id }) => id === previous) ?? null;
    }
    return ids;
  }

  folder(run: Run, tree: 'snapshots' | 'changes'): string {
    return `tasks/${tree}/dt=${run.date}/run=${run.id}`;
  }

  /** What a run writes, in order. */
  steps(run: Run, isShort: boolean): (() => void)[] {
    const staged = isShort ? [] : ['run.json', 'chunk-0'].map((name) => `_staging/tasks/${run.id}/${name}`);
    const [snapshots, changes] = [this.folder(run, 'snapshots'), this.folder(run, 'changes')];
    const parts = [`${snapshots}/part-00000-aaaaaaaa.csv.gz`, `${changes}/part-00000-aaaaaaaa.csv.gz`];
    const manifests = [`${changes}/_datapackage.json`, `${snapshots}/_datapackage.json`];
    return [...staged, ...parts, ...manifests].map((key) => () => this.write(key));
  }

  swap(run: Run): boolean {
    if (run.base !== this.pointer.version) return false;
    this.pointer = { version: run.base + 1000 + this.random.below(1000), run };
    run.wasPublished = true;
    this.known = run;
    return true;
  }

  async night(): Promise<void> {
    const isShort = this.pointer.run !== null && this.random.share() < 0.5;
    const replaced: RunId[] = [];
    if (isShort && this.random.share() < 0.2) {
      const attempt = this.begin();
      for (const step of this.steps(attempt, true).slice(0, this.random.below(5))) step();
      replaced.push(attempt.id);
    }
    const run = this.begin();
    for (const step of this.steps(run, isShort)) {
      step();
      this.tick();
      if (this.random.share() < 0.05) this.late();
    }
    if (!this.swap(run)) return;
    this.tick();
    await this.sweep({ replaced, hasStaging: !isShort || this.random.share() < 0.3, before: null });
  }

  fail(): void {
    const run = this.begin();
    const steps = this.steps(run, this.pointer.run !== null && this.random.share() < 0.5);
    const some = this.random.below(steps.length + 1);
    for (const step of steps.slice(0, some)) {
      step();
      this.tick();
    }
    run.isPending = some === steps.length && this.random.share() < 0.6;
  }

  /** A request of an ended run arrives. */
  late(): void {
    const { random } = this;
    if (this.runs.length === 0) return;
    const run = random.pick(this.runs);
    if (run.isPending && random.share() < 0.7) {
      run.isPending = false;
      // The store rejects the swap if the objects were removed only if we have broken our promise.
      this.swap(run);
      return;
    }
    const tree = random.pick(['snapshots', 'changes'] as const);
    const name = random.pick(['part-00000-bbbbbbbb.csv.gz', '_other-0.bin', '_datapackage.json']);
    // A manifest is written once, and a published one is there already.
    if (name === '_datapackage.json' && (run.wasPublished || run.base === this.pointer.version)) return;
    if (random.share() < 0.3) this.write(`_staging/tasks/${run.id}/chunk-9`);
    else this.write(`${this.folder(run, tree)}/${name}`);
  }

  /** What people and disks do. */
  lose(): void {
    const { random } = this;
    const published = this.published();
    if (published.length === 0) return;
    const run = random.pick(published);
    this.hasLost = true;
    const version = this.pointer.version + 1e6;
    // Not both: a purge makes old folders look new, and then only the mirror or `latest.json` knows better.
    switch (random.below(this.trouble.purges ? 4 : 5)) {
      case 0:
        if (run !== this.pointer.run) this.objects.delete(`${this.folder(run, 'changes')}/_datapackage.json`);
        return;
      case 1:
        for (const tree of ['changes', 'snapshots'] as const)
          if (run !== this.pointer.run) this.objects.delete(`${this.folder(run, tree)}/_datapackage.json`);
        return;
      case 2:
        // Restored from an earlier version of the object, and adopted by this mirror.
        if (
          this.objects.has(`${this.folder(run, 'snapshots')}/_datapackage.json`) &&
          this.#ancestors(this.pointer.run).includes(run.id)
        )
          this.pointer = { version, run };
        return;
      case 3:
        this.pointer = { version, run: null };
        return;
      default:
        // Lost together with the mirror's state.
        this.pointer = { version, run: null };
        this.known = null;
        this.writer++;
    }
  }

  async purge(): Promise<void> {
    // The fence stops a mirror whose pointer was restored.
    if (this.pointer.run === null || this.pointer.run !== this.known) return;
    this.clock += 1000;
    const purge = this.begin();
    this.clock += 1000;
    this.pointer = { ...this.pointer, version: this.pointer.version + 5e5 };
    for (const key of [...this.objects.keys()]) {
      if (key.startsWith('_staging/')) this.objects.delete(key);
      else if (this.random.share() < 0.5) this.write(key);
    }
    for (let n = this.random.below(4); n > 0; n--) {
      this.late();
      this.tick();
    }
    await this.sweep({ replaced: [], hasStaging: true, before: purge.id });
    // A late request of a run from before the purge may hold the purged row. What is left is complete, and was purged.
    const first = Math.min(...this.published().map(({ listed }) => listed.publishedAt));
    for (const { runId, objects } of this.folders()) {
      if (this.hasLost || this.run(runId).wasPublished || runId > purge.id) continue;
      expect(this.run(runId).listed.publishedAt, runId).toBeLessThan(first);
      expect(objects.some(({ key }) => key.endsWith('_datapackage.json'))).toBe(true);
    }
  }

  published(): Run[] {
    return this.runs.filter(({ wasPublished }) => wasPublished);
  }

  folders() {
    return toRunFolders('tasks', this.listing());
  }

  listing() {
    return [...this.objects].map(([key, modifiedAt]) => ({ key: key as ObjectKey, bytes: 1, modifiedAt }));
  }

  run(id: string): Run {
    return this.runs.find((run) => run.id === id)!;
  }

  read(id: RunId): ListedRun | null {
    const run = this.run(id);
    const has = (['changes', 'snapshots'] as const).some((tree) =>
      this.objects.has(`${this.folder(run, tree)}/_datapackage.json`),
    );
    return has ? run.listed : null;
  }

  async sweep(task: { replaced: RunId[]; hasStaging: boolean; before: RunId | null }): Promise<void> {
    const head = this.pointer.run!;
    const folders = this.folders();
    const staged = task.hasStaging ? toStagedFolders('_staging/tasks/', this.listing()) : [];
    let input: Omit<SweepFacts, 'recorded'> | null = null;
    for await (const known of readKnownRuns(head.listed, async (id) => this.read(id), LISTED)) {
      const settings = { snapshotsMs: SNAPSHOTS_MS, keepPerDay: 'all' } as const;
      const { replaced, before } = task;
      input = {
        head: head.id,
        folders,
        staged,
        known,
        keep: [],
        replaced,
        before,
        settings,
        now: this.clock,
      };
      if (!needsMore(input)) break;
    }
    const recorded = new Map(
      unknownComplete(input!).map((key) => {
        const { listed, writer } = this.run(/run=([^/]+)/.exec(key)![1]!);
        const previousRuns = listed.previousRuns.map(({ runId }) => runId);
        const isOwn = writer === this.writer;
        return [key, { publishedAt: listed.publishedAt, isOwn, previousRuns }] as const;
      }),
    );
    const plan = planSweep({ ...input!, recorded });
    this.#check(plan, { head, folders, staged }, task);
    for (const { objects } of [...plan.folders, ...plan.staged])
      for (const { key } of objects) {
        this.objects.delete(key);
        this.removals++;
      }
  }

  /** Compares with what really happened. */
  #check(
    plan: ReturnType<typeof planSweep>,
    { head, folders, staged }: { head: Run; folders: SweepFacts['folders']; staged: SweepFacts['staged'] },
    { before }: { before: RunId | null },
  ): void {
    const mayStillBePublished = (run: Run): boolean => run.isPending && run.base === this.pointer.version;
    for (const { tree, runId, objects } of plan.folders) {
      const run = this.run(runId);
      const what = `${tree} of run ${this.runs.indexOf(run)}`;
      expect(mayStillBePublished(run), `${what} may still be published`).toBe(false);
      if (!run.wasPublished) continue;
      const isLate = before !== null && !objects.some(({ key }) => key.endsWith('_datapackage.json'));
      if (isLate && run !== head) continue;
      expect(tree, `${what} was published`).toBe('snapshots');
      expect(run, what).not.toBe(head);
      const age = this.clock - run.listed.publishedAt;
      expect(age, `${what} is not old`).toBeGreaterThan(SNAPSHOTS_MS);
    }
    for (const { name } of plan.staged)
      expect(mayStillBePublished(this.run(name)), `staging of ${name}`).toBe(false);
    // Nothing that could be removed is left, unless something is lost that would prove it.
    if (this.hasLost) return;
    const began = Math.min(
      ...folders
        .filter(({ runId }) => runId === head.id)
        .flatMap(({ objects }) => objects.map(({ modifiedAt }) => modifiedAt)),
    );
    const first = Math.min(...this.published().map(({ listed }) => listed.publishedAt));
    const gone = new Set(plan.folders);
    for (const folder of folders) {
      const run = this.run(folder.runId);
      const isOld = folder.objects.every(({ modifiedAt }) => modifiedAt < began);
      if (!run.wasPublished && isOld && run.listed.publishedAt >= first)
        expect(gone.has(folder), `${folder.tree} of ${folder.runId} is left`).toBe(true);
    }
    for (const folder of staged) {
      const isOld = folder.objects.every(({ modifiedAt }) => modifiedAt < began);
      if (isOld || folder.name === head.id) expect(plan.staged).toContain(folder);
    }
    const suspects = new Set(plan.suspects);
    for (const folder of folders) {
      const names = folder.objects.map(({ key }) => key.split('/').at(-1)!);
      const hasTwo = names.filter((name) => name.startsWith('part-')).length > 1;
      if (hasTwo && names.includes('_datapackage.json') && !gone.has(folder))
        expect(suspects.has(folder), `${folder.runId} has a stray part`).toBe(true);
    }
  }
}

async function play(seed: number, trouble: Trouble): Promise<World> {
  const random = seededRandom(seed);
  const world = new World(random, trouble);
  for (let n = 0; n < 30; n++) {
    world.tick();
    const dice = random.share();
    if (dice < 0.5) await world.night();
    else if (dice < 0.75) world.fail();
    else if (dice < 0.9) world.late();
    else if (trouble.losses && dice < 0.95) world.lose();
    else if (trouble.purges) await world.purge();
  }
  return world;
}

describe('a sweep, compared with what really happened to each run', () => {
  it.each([
    { losses: false, ids: 'at random', purges: false },
    { losses: true, ids: 'at random', purges: false },
    { losses: false, ids: 'in order', purges: true },
    { losses: true, ids: 'in order', purges: true },
  ] as const)('removes nothing that was or may be published, and else everything: %o', async (trouble) => {
    let removals = 0;
    for (const seed of SEEDS) {
      try {
        removals += (await play(seed, trouble)).removals;
      } catch (error) {
        throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
      }
    }
    expect(removals).toBeGreaterThan(SEEDS.length);
  });
});
