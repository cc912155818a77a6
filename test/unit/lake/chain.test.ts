import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import { DAY_MS } from '../../../src/core/duration.js';
import { newRunId } from '../../../src/core/run-id.js';
import { encodeWithChecksum } from '../../../src/lake/documents/checksums.js';
import type { PreviousRun } from '../../../src/lake/documents/document-schemas.js';
import {
  dateOf,
  inFolder,
  LAYOUT_VERSION,
  MANIFEST,
  PREVIOUS_RUNS,
  runFolder,
} from '../../../src/lake/documents/lake-layout.js';
import { previousRuns } from '../../../src/lake/documents/manifest.js';
import type { Pointer } from '../../../src/lake/documents/pointer.js';
import { descendsFrom, readRunIds, runsAfter, wasPublished } from '../../../src/lake/published/chain.js';
import { type ObjectStore, openStore } from '../../../src/lake/store/index.js';
import { seededRandom } from '../../support/random.js';
import { seeds } from '../../support/seeds.js';
import { WRITER } from '../../support/writer.js';

const FIRST = Date.parse('2026-01-01T02:00:00Z');

/** A published run of a test, with the run before it. */
interface Run {
  readonly runId: RunId;
  readonly publishedAt: number;
  readonly before: Run | null;
  readonly changes: ObjectKey;
  readonly previousRuns: readonly PreviousRun[];
  readonly leftBehind: readonly RunId[];
}

let folder: string;
let store: ObjectStore;
let reads = 0;
let count = 0;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-chain-'));
  const plain = openStore({ url: pathToFileURL(folder).href });
  store = new Proxy(plain, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        if (name === 'readIfExists') reads++;
        return member.apply(target, args);
      };
    },
  });
  [reads, count] = [0, 0];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function publish(before: Run | null, leftBehind: readonly RunId[] = []): Promise<Run> {
  const at = FIRST + count++ * DAY_MS;
  const runId = newRunId(at, null, String(count).padStart(8, '0'));
  const changes = inFolder(runFolder('tasks', 'changes', dateOf(at), runId), MANIFEST);
  const listed = { runId, previousRuns: previousRuns(before), leftBehind };
  const fields = { layout: LAYOUT_VERSION, publishedAt: new Date(at).toISOString(), parts: [] };
  const previousRunId = before?.runId ?? null;
  const body = encodeWithChecksum({ worktrack: { ...fields, ...listed, previousRunId } });
  await store.write(changes, body);
  return { ...listed, publishedAt: at, before, changes };
}

async function publishMany(number: number, first: Run | null = null): Promise<Run[]> {
  const runs: Run[] = [];
  for (let at = 0; at < number; at++) runs.push(await publish(runs.at(-1) ?? first));
  return runs;
}

function pointerTo({ runId, changes }: Run): Pointer {
  return {
    ...{ resource: 'tasks', runId, snapshot: changes, changes, publishedAt: '', rows: 0, connection: 'acme' },
    ...{ checkpoint: { updatedSince: '' as never }, baseUrl: '', writer: WRITER, rolledBack: null },
    manifests: { snapshot: '', changes: null },
  };
}

/** The runs before a run, by following each to its base. */
function ancestors(run: Run | null): RunId[] {
  const ids: RunId[] = [];
  for (let at = run; at !== null; at = at.before) ids.push(at.runId);
  return ids;
}

describe('a chain of runs', () => {
  it('is walked with one read for each hundred runs, and each run is there once', async () => {
    const runs = await publishMany(3 * PREVIOUS_RUNS + 7);
    const head = runs.at(-1)!;
    expect(head.previousRuns).toHaveLength(PREVIOUS_RUNS);
    const found = await readRunIds(store, 'tasks', { ...head, head });
    expect([...found.runs]).toEqual(ancestors(head));
    expect(found.lost).toBeNull();
    expect(reads).toBe(3);
  });

  it('survives a change log that is lost, and says so if too many are', async () => {
    const runs = await publishMany(PREVIOUS_RUNS + 20);
    const head = runs.at(-1)!;
    const lost = runs.at(-1 - PREVIOUS_RUNS)!;
    await store.remove([lost.changes]);
    // The next younger run takes its place.
    const found = await readRunIds(store, 'tasks', { ...head, head });
    expect([...found.runs]).toEqual(ancestors(head));
    expect(found.lost).toBeNull();
    for (const run of runs.slice(-1 - PREVIOUS_RUNS, -1)) await store.remove([run.changes]);
    const broken = await readRunIds(store, 'tasks', { ...head, head });
    expect([...broken.runs]).toEqual(ancestors(head).slice(0, PREVIOUS_RUNS + 1));
    expect(broken.lost).toBe(lost.runId);
    expect(await wasPublished(store, pointerTo(head), runs[0]!.runId)).toBe(false);
  });

  it('descends from its own runs and from what it left behind, and from no other run', async () => {
    const [first, second, third] = await publishMany(3);
    const other = await publish(first!);
    const adopting = await publish(other, [third!.runId]);
    const later = await publish(adopting, adopting.leftBehind);
    for (const run of [first!, other, adopting, later, third!])
      expect(await descendsFrom(store, pointerTo(later), run.runId)).toBe(true);
    expect(await descendsFrom(store, pointerTo(later), second!.runId)).toBe(false);
    expect(await descendsFrom(store, pointerTo(other), third!.runId)).toBe(false);
    expect(await wasPublished(store, pointerTo(later), third!.runId)).toBe(false);
    expect(await wasPublished(store, pointerTo(later), first!.runId)).toBe(true);
  });

  it.each(seeds(2))(
    'has the runs since another one, also of a chain that forks, or that is long, seed %i',
    async (seed) => {
      const random = seededRandom(seed);
      const runs: Run[] = await publishMany(PREVIOUS_RUNS + 20);
      for (let at = 0; at < 40; at++) runs.push(await publish(random.pick(runs.slice(-60))));
      for (let tries = 0; tries < 25; tries++) {
        const [head, after] = [random.pick(runs.slice(-60)), random.pick(runs)];
        const known = new Set(ancestors(after));
        const expected = ancestors(head).filter((id) => !known.has(id));
        expect(await runsAfter(store, 'tasks', head.runId, after.runId)).toEqual(expected.reverse());
      }
      const head = runs.at(-1)!;
      expect(await runsAfter(store, 'tasks', head.runId, null)).toEqual(ancestors(head).reverse());
    },
  );

  it('has only its head since a run that is lost', async () => {
    const runs = await publishMany(3);
    const unknown = '20250101T000000Z-00000000' as RunId;
    expect(await runsAfter(store, 'tasks', runs[2]!.runId, unknown)).toEqual([runs[2]!.runId]);
  });
});
