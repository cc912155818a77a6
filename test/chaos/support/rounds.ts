import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { WRITABLE_RESOURCES } from '../../../src/core/contract/write-back.js';
import { s3ClientConfig } from '../../../src/servers/index.js';
import type { Random } from '../../support/random.js';
import { isStaged } from '../../support/snapshot.js';
import { exportAll, OPERATIONS, type Operation } from './operations.js';
import { recordsOf } from './records.js';
import { VICTIMS, type Victim, type World } from './world.js';

/** The plan of one round. */
export interface Plan {
  readonly operation: Operation;
  /** One of the operation's moments. */
  readonly moment: string;
  readonly ends: readonly { readonly victim: Victim; readonly signal: 'SIGKILL' | 'SIGTERM' }[];
  /** Delay between the moment and the kills. */
  readonly delayMs: number;
  /** Delay before the killed processes are restarted. */
  readonly awayMs: number;
}

const MOMENT_WITHIN_MS = 15_000;
const TWO_AT_ONCE = 0.3;
const IN_GOOD_ORDER = 0.25;

export function drawPlan(random: Random, operations: readonly Operation[] = OPERATIONS): Plan {
  const operation = random.pick(operations);
  const moment = random.pick(operation.moments);
  const victims = new Set([random.pick(VICTIMS)]);
  if (random.share() < TWO_AT_ONCE) victims.add(random.pick(VICTIMS));
  return {
    operation,
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

/**
 * Runs an operation, kills processes in its middle, restarts them, and checks the result. Afterwards the lake has all
 * records of the service. Throws when a check fails.
 *
 * @returns whether the operation was in progress when the processes were killed
 */
export async function carryOut(plan: Plan, world: World, random: Random): Promise<boolean> {
  const undertaking = await plan.operation.prepare(world, random, plan.moment);
  let over = false;
  const running = undertaking.run().finally(() => {
    over = true;
  });
  running.catch(() => {});
  const until = Date.now() + MOMENT_WITHIN_MS;
  while (!over && Date.now() < until && !(await undertaking.reached(plan.moment))) await pause(2);
  await pause(plan.delayMs);
  const isHit = !over;
  await Promise.all(plan.ends.map(({ victim, signal }) => world.kill(victim, signal)));
  await pause(plan.awayMs);
  await Promise.all(plan.ends.map(({ victim }) => world.restart(victim)));
  try {
    await running;
    await undertaking.check();
  } catch (error) {
    throw new Error(describePlan(plan), { cause: error });
  }
  if (!plan.operation.mirrorsAll) await exportAll(world);
  return isHit;
}

/** Touches records of each resource, and creates some in resources without write-backs, whose content is then known. */
export async function change(world: World, random: Random): Promise<void> {
  for (const resource of world.resources) {
    const ids = (await recordsOf(world, resource)).map((text) => (JSON.parse(text) as { id: string }).id);
    const touched = Array.from({ length: random.below(6) }, () => random.pick(ids));
    const made = Array.from({ length: random.below(4) }, () => ({ name: `made ${random.below(1e9)}` }));
    const create = isWritten(resource) ? [] : made;
    const touch = { ids: ids.length === 0 ? [] : touched };
    await world.control('POST', `records/${resource}`, { create, touch });
  }
}

function isWritten(resource: string): boolean {
  return WRITABLE_RESOURCES.some((one) => one === resource);
}

/** Checks that a successful run leaves no staged objects, open uploads or folders of unpublished runs. */
export async function checkTidy(world: World): Promise<void> {
  const left: string[] = [];
  for await (const { key } of world.store.list('_staging/')) if (isStaged(key)) left.push(key);
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
              `${resource}: ${tree}/${date}/${run} belongs to no published run: ${names.join(', ')}`,
            );
        }
      }
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
