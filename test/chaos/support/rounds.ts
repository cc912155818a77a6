import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { RunChain } from '../../../src/lake/chain.js';
import { s3ClientConfig } from '../../../src/servers/index.js';
import { assertRowEquals } from '../../support/oracle.js';
import type { Random } from '../../support/random.js';
import { readPointer, readSnapshot, readTree } from '../../support/snapshot.js';
import { MOMENTS, type Moment, RunWatch } from './moments.js';
import { OPERATIONS, type Operation } from './operations.js';
import { VICTIMS, type Victim, type World } from './world.js';

/** What is to happen in one round. */
export interface Plan {
  readonly operation: Operation;
  /** Resource whose run decides when. */
  readonly resource: string;
  readonly moment: Moment;
  readonly ends: readonly { readonly victim: Victim; readonly signal: 'SIGKILL' | 'SIGTERM' }[];
  /** Between the moment and the ends. */
  readonly delayMs: number;
  /** Until what was ended is started again. */
  readonly awayMs: number;
}

const MOMENT_WITHIN_MS = 15_000;
const TWO_AT_ONCE = 0.3;
const IN_GOOD_ORDER = 0.25;

export function drawPlan(random: Random, { resources }: World): Plan {
  const moment = random.pick(MOMENTS);
  const victims = new Set([random.pick(VICTIMS)]);
  if (random.share() < TWO_AT_ONCE) victims.add(random.pick(VICTIMS));
  return {
    operation: random.pick(OPERATIONS),
    resource: random.pick(resources),
    moment,
    ends: [...victims].map((victim) => ({
      victim,
      signal: random.share() < IN_GOOD_ORDER ? 'SIGTERM' : 'SIGKILL',
    })),
    delayMs: random.below(moment === 'start' ? 1500 : 120),
    awayMs: random.below(1500),
  };
}

export function describePlan({ operation, ends, moment }: Plan): string {
  return `${operation.name}, ${ends.map(({ victim, signal }) => `${signal} ${victim}`).join(' and ')} at ${moment}`;
}

/** Lets an operation run, ends processes in its middle and starts them again. Throws when it does not end well. */
export async function carryOut(plan: Plan, world: World): Promise<void> {
  const watch = new RunWatch(world.lakeFolder, plan.resource);
  await watch.begin();
  let over = false;
  const running = plan.operation.run(world).finally(() => {
    over = true;
  });
  running.catch(() => {});
  const until = Date.now() + MOMENT_WITHIN_MS;
  while (!over && Date.now() < until && !(await watch.reached(plan.moment))) await pause(2);
  await pause(plan.delayMs);
  await Promise.all(plan.ends.map(({ victim, signal }) => world.kill(victim, signal)));
  await pause(plan.awayMs);
  await Promise.all(plan.ends.map(({ victim }) => world.restart(victim)));
  try {
    await running;
  } catch (error) {
    throw new Error(describePlan(plan), { cause: error });
  }
}

/** Touches and creates a few records of each resource. */
export async function change(world: World, random: Random): Promise<void> {
  for (const resource of world.resources) {
    const ids = (await records(world, resource)).map((text) => (JSON.parse(text) as { id: string }).id);
    const touched = Array.from({ length: random.below(6) }, () => random.pick(ids));
    const created = Array.from({ length: random.below(4) }, () => ({ name: `made ${random.below(1e9)}` }));
    await world.control('POST', `records/${resource}`, { create: created, touch: { ids: touched } });
  }
}

async function records(world: World, resource: string): Promise<string[]> {
  return (await world.control('GET', `records/${resource}`)).split('\n').filter((line) => line !== '');
}

/** Holds the snapshots against the service row for row, and the counts of all runs against the rows. */
export async function checkMirrored(world: World): Promise<void> {
  for (const resource of world.resources) {
    const expected = new Map(
      (await records(world, resource)).map((text) => [(JSON.parse(text) as { id: string }).id, text]),
    );
    const { rows } = await readSnapshot(world.store, resource);
    const ids = new Set(rows.map((row) => row.id!));
    if (ids.size !== rows.length)
      throw new Error(`${resource}: ${rows.length - ids.size} rows are there twice`);
    const lost = [...expected.keys()].filter((id) => !ids.has(id));
    const odd = [...ids].filter((id) => !expected.has(id));
    if (lost.length + odd.length > 0)
      throw new Error(`${resource}: lost ${lost.join()}; not the service's ${odd.join()}`);
    for (const row of rows) assertRowEquals(row, expected.get(row.id!)!);
    await checkChangeLogs(world, resource, rows.length);
  }
}

/** Over all published runs, each row was inserted once; and no run's change log has a row twice. */
async function checkChangeLogs(world: World, resource: string, rows: number): Promise<void> {
  const pointer = await readPointer(world.store, resource);
  let inserted = 0;
  let latest = true;
  for await (const { runId, changes, manifest } of new RunChain(world.store, pointer)) {
    const { counts } = manifest;
    inserted += counts.inserted;
    if (!latest) continue;
    const tree = await readTree(world.store, changes);
    if (new Set(tree.rows.map((row) => row.id)).size !== tree.rows.length)
      throw new Error(`${resource}: the change log of ${runId} has a row twice`);
    if (tree.rows.length !== counts.inserted + counts.updated)
      throw new Error(`${resource}: the change log of ${runId} has ${tree.rows.length} rows`);
    latest = false;
  }
  if (inserted !== rows)
    throw new Error(`${resource}: ${inserted} rows inserted over all runs, ${rows} there`);
}

/** What a good run must not leave: staged objects, open uploads, folders of runs that were not published. */
export async function checkTidy(world: World): Promise<void> {
  const left: string[] = [];
  for await (const { key } of world.store.list('_staging/')) left.push(key);
  if (left.length > 0) throw new Error(`staging is left: ${left.join(', ')}`);
  const client = new S3Client(s3ClientConfig(world.s3));
  try {
    const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: world.bucket }));
    if (Uploads.length > 0) throw new Error(`uploads are open: ${Uploads.map(({ Key }) => Key).join(', ')}`);
  } finally {
    client.destroy();
  }
  for (const resource of world.resources) {
    for (const tree of ['snapshots', 'changes']) {
      const folder = join(world.lakeFolder, resource, tree);
      for (const date of await readdir(folder)) {
        for (const run of await readdir(join(folder, date))) {
          const names = await readdir(join(folder, date, run));
          if (names.length > 0 && !names.includes('_datapackage.json'))
            throw new Error(
              `${resource}: ${tree}/${date}/${run} is of no published run: ${names.join(', ')}`,
            );
        }
      }
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
