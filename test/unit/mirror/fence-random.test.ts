import { ApplicationFailure } from '@temporalio/common';
import { afterEach, describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { idOf } from '../../support/mirrored.js';
import { assertRowEquals } from '../../support/oracle.js';
import { type Random, seededRandom } from '../../support/random.js';
import { seeds } from '../../support/seeds.js';
import { readPointer, readSnapshot, runsIn } from '../../support/snapshot.js';
import { newWriter } from '../../support/writer.js';

const DAY = 86_400_000;
const POINTER = pointerKey('tasks');

/** What a mirror knows. */
type Knowledge = Pick<InProcessMirror, 'writer' | 'published' | 'checkpoint'>;

interface World {
  readonly mirror: InProcessMirror;
  readonly random: Random;
  /** Two mirrors of one lake. */
  readonly known: Knowledge[];
  /** Every state of `latest.json`, and which mirror wrote it. */
  readonly written: { readonly body: Buffer; readonly by: number }[];
  /** The base of each run, and what its mirror had published if it adopted another chain. */
  readonly parents: Map<RunId, readonly RunId[]>;
  by: number;
  readonly log: string[];
}

/**
 * Random runs, rollbacks, purges and lost results of two mirrors, while `latest.json` is lost or restored from an earlier
 * version. The test follows from outside who wrote each pointer, and its run.
 */
describe('the fence of two mirrors', () => {
  let mirror: InProcessMirror | undefined;
  afterEach(() => mirror?.close());

  it.each(seeds(2))(
    'lets a mirror continue exactly from its own runs, and no row is lost, seed %i',
    async (seed) => {
      mirror = await InProcessMirror.start({
        simulator: { seed, awkward: false, counts: { tasks: 8 } },
        resource: 'tasks',
        yaml: 'tasks',
        connection: '    sync: { reconcileEvery: never, overlap: 1m }\n',
      });
      const fresh = (): Knowledge => ({ writer: newWriter(), published: null, checkpoint: null });
      const world: World = {
        ...{ mirror, random: seededRandom(seed), known: [fresh(), fresh()] },
        ...{ written: [], parents: new Map(), by: -1, log: [] },
      };
      try {
        await act(world, 0, 'run');
        for (let step = 0; step < 16; step++) await next(world);
        await act(world, world.random.below(2), 'adopt');
        await expectService(world);
      } catch (error) {
        throw new Error(`${world.log.join('\n')}\n${error instanceof Error ? error.message : error}`, {
          cause: error,
        });
      }
    },
  );
});

async function next(world: World): Promise<void> {
  const { mirror, random, written, log } = world;
  mirror.clock += DAY;
  mirror.simulator.admin.advance(DAY);
  const ids = mirror.simulator.admin.records('tasks').map(idOf);
  mirror.simulator.admin.update('tasks', random.pick(ids), { title: `v${random.below(1000)}` });
  mirror.simulator.admin.create('tasks', { title: 'new' });
  const what = random.below(12);
  if (what === 0) {
    const earlier = random.pick(written);
    await mirror.store.write(POINTER, earlier.body);
    world.by = earlier.by;
    log.push(`restored ${(await readPointer(mirror.store, 'tasks')).runId}`);
  } else if (what === 1) {
    await mirror.store.remove([POINTER]);
    log.push('lost');
    await act(world, random.below(2), 'adopt');
  } else {
    const kind = random.pick([
      'run',
      'run',
      'lost result',
      'lost result',
      'adopt',
      'lost adopt',
      'back',
      'purge',
    ] as const);
    await act(world, random.below(2), kind);
  }
}

type Kind = 'run' | 'lost result' | 'adopt' | 'lost adopt' | 'back' | 'purge';

/** Whether the pointer's run descends from a run, as the test has seen it. */
function descends({ parents }: World, run: RunId, from: RunId): boolean {
  const seen = new Set<RunId>();
  const open = [run];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (at === from) return true;
    if (seen.has(at)) continue;
    seen.add(at);
    open.push(...(parents.get(at) ?? []));
  }
  return false;
}

async function act(world: World, who: number, kind: Kind): Promise<void> {
  const { mirror, random, known, parents, log } = world;
  const me = known[who]!;
  Object.assign(mirror, me);
  const found = await mirror.store.readIfExists(POINTER);
  const pointer = found === null ? null : await readPointer(mirror.store, 'tasks');
  const adopts = kind === 'adopt' || kind === 'lost adopt';
  const isOwn = world.by === who;
  const mayWrite =
    adopts ||
    me.published === null ||
    (pointer !== null && isOwn && descends(world, pointer.runId, me.published));
  mirror.clock += 60_000;
  log.push(`${who} ${kind}, knows ${me.published}, finds ${pointer?.runId} of ${world.by}`);
  // A mirror cannot tell a run that a sweep has removed from one in another lake, so its adoption does not name it.
  const isThere =
    me.published !== null &&
    (await runsIn(mirror.store, 'tasks', 'snapshots')).some((run) => run.includes(me.published!));
  let ended: RunId | null = null;
  try {
    if (kind === 'back' && pointer !== null) ended = (await mirror.rollBack(pointer.runId)).runId;
    else if (kind === 'purge') {
      const id = random.pick(mirror.simulator.admin.records('tasks').map(idOf));
      mirror.simulator.admin.remove('tasks', [id]);
      await mirror.purge(id);
    } else ended = (await mirror.run({ adopt: adopts, inMemory: random.below(2) === 0 })).runId;
  } catch (error) {
    if (!(error instanceof ApplicationFailure) || error.type !== 'Displaced') throw error;
    expect(mayWrite, error.message).toBe(false);
    log.push(`  stopped: ${error.message.slice(0, 60)}`);
    return;
  }
  expect(mayWrite).toBe(true);
  if (ended !== null) {
    const left = adopts && isThere ? [me.published!] : [];
    parents.set(ended, [...(pointer === null ? [] : [pointer.runId]), ...left]);
    log.push(`  published ${ended}`);
  }
  const body = (await mirror.store.readIfExists(POINTER))?.body;
  if (body === undefined) return;
  world.written.push({ body, by: who });
  world.by = who;
  const isLost = kind === 'lost result' || kind === 'lost adopt';
  if (!isLost) {
    const { writer, published, checkpoint } = mirror;
    known[who] = { writer, published, checkpoint };
  }
  if (kind !== 'purge' && kind !== 'back') await expectService(world);
}

/** After a run, each record of the service is in the lake with its values. */
async function expectService({ mirror }: World): Promise<void> {
  const { rows } = await readSnapshot(mirror.store, 'tasks');
  const found = new Map(rows.map((row) => [row.id!, row]));
  for (const text of mirror.simulator.admin.records('tasks', 'listed')) {
    const row = found.get(idOf(text));
    expect(row, idOf(text)).toBeDefined();
    assertRowEquals(row!, text);
  }
}
