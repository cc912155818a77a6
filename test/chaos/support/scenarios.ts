import type { Random } from '../../support/random.js';
import { type MixedResource, type MixedWorld, RESOURCES } from './mixed-world.js';

/** One kind of fault. Its run may fail, but the lake and the service must be correct afterwards. */
export interface Scenario {
  readonly name: string;
  run(world: MixedWorld, random: Random): Promise<void>;
}

const pickResource = (random: Random): MixedResource => random.pick(RESOURCES);

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'the list shifts while a full read pages through it',
    async run(world, random) {
      const { admin } = world.stack.simulator;
      for (const resource of RESOURCES) {
        // A shift can hide only rows that the lake does not have yet.
        for (let n = 0; n < 40; n++) admin.create(resource, { name: `new ${n}` });
        world.shiftDuringRead(resource, random);
      }
      world.passTime();
      await world.export(random.share() < 0.7);
    },
  },
  {
    name: 'the list shifts while an increment pages through it',
    async run(world, random) {
      const resource = pickResource(random);
      world.stack.simulator.admin.touch(resource, { count: 80, pick: 'spread' });
      world.passTime();
      world.shiftDuringRead(resource, random);
      await world.export();
    },
  },
  {
    name: 'the API key disappears during an export and returns',
    async run(world, random) {
      const { admin } = world.stack.simulator;
      const resource = pickResource(random);
      let back: Promise<void> | null = null;
      admin.beforeAnswer({ resource }, async () => {
        await world.hideKey();
        back = new Promise((resolve) => setTimeout(resolve, random.below(1500))).then(() => world.showKey());
      });
      await world.export(true);
      await back;
    },
  },
  {
    name: 'the API key disappears while rows are written, and responses are lost',
    async run(world, random) {
      const { admin } = world.stack.simulator;
      admin.faults.add({
        match: { method: 'POST', resource: 'time-entries', every: 3 },
        remaining: 3,
        fault: { kind: random.pick(['lose-response', 'reset-mid-body', 'truncated-json'] as const) },
      });
      let back: Promise<void> | null = null;
      admin.beforeAnswer({ method: 'POST', resource: 'time-entries' }, async () => {
        await world.hideKey();
        back = new Promise((resolve) => setTimeout(resolve, random.below(2000))).then(() => world.showKey());
      });
      await world.writeBack(random);
      await back;
    },
  },
  {
    name: 'the pointer swap fails for good',
    async run(world, random) {
      const rule = world.s3.add({
        method: 'PUT',
        path: new RegExp(`/${pickResource(random)}/latest\\.json`),
        conditional: true,
        fault: { kind: 'status', status: 403, code: 'AccessDenied' },
      });
      const { outcome } = await world.export(random.share() < 0.5);
      if (rule.hits > 0 && outcome === 'published')
        throw new Error('the export was published despite the fault');
    },
  },
  {
    name: 'records answer 410 by id',
    async run(world, random) {
      const { admin } = world.stack.simulator;
      const ids = admin.records('projects').map((text) => (JSON.parse(text) as { id: string }).id);
      const gone = random.pick(ids);
      world.remove('projects', gone);
      admin.faults.add({
        match: { method: 'GET', path: `/projects/${gone}` },
        fault: { kind: 'status', status: random.pick([410, 400, 409, 422, 451]) },
      });
      const { outcome, runs } = await world.backfill('projects', true);
      if (outcome !== 'published') throw new Error(JSON.stringify(runs));
    },
  },
  {
    name: 'a rollback',
    async run(world, random) {
      const resource = pickResource(random);
      const runs = await world.runs(resource);
      const to = runs[Math.min(runs.length - 1, 1 + random.below(3))]!;
      if (random.share() < 0.3)
        world.s3.add({
          path: /latest\.json/,
          conditional: true,
          remaining: 1,
          fault: { kind: 'lose-response' },
        });
      await world.rollback(resource, to);
    },
  },
  {
    name: 'a read fails, and the next run takes its pages over',
    async run(world, random) {
      const { admin } = world.stack.simulator;
      const resource = pickResource(random);
      // Either the read fails, or everything is staged and the store then rejects the parts.
      if (random.share() < 0.5)
        admin.faults.add({
          match: { resource, page: 2 + random.below(3) },
          fault: { kind: 'status', status: 503 },
        });
      else
        world.s3.add({
          method: 'PUT',
          path: new RegExp(`/${resource}/(snapshots|changes)/`),
          fault: { kind: 'status', status: 503, code: 'SlowDown' },
        });
      admin.touch(resource, { count: 80, pick: 'spread' });
      world.passTime();
      // The same mode as the next run, which otherwise would not reuse the pages.
      await world.export();
      world.calm();
      world.changeSomething(random);
    },
  },
  {
    name: 'a write to the store arrives after its attempt was replaced',
    async run(world, random) {
      const resource = pickResource(random);
      let left = random.below(12);
      const arrived = world.late.hold(({ url }) => url.includes(`/${resource}/`) && left-- <= 0);
      const exporting = world.export(random.share() < 0.5);
      const held = await Promise.race([arrived, exporting.then(() => null)]);
      // Some outages end within the run. Others outlast `retries.giveUpAfter`.
      await new Promise((resolve) => setTimeout(resolve, random.below(7000)));
      world.late.reconnect();
      await exporting;
      if (random.share() < 0.5) await world.export();
      if (held !== null) await world.deliver(held);
    },
  },
];
