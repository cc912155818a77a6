import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { folderOf } from '../../../src/lake/layout.js';
import { decodeManifest } from '../../../src/lake/manifest.js';
import { listDates, listRuns, manifestOf, publishedRuns } from '../../../src/lake/runs.js';
import { s3ClientConfig } from '../../../src/servers/index.js';
import { assertRowEquals } from '../../support/oracle.js';
import type { Random } from '../../support/random.js';
import { readPointer, readSnapshot, readTree } from '../../support/snapshot.js';
import { MOMENTS, type Moment, RunWatch } from './moments.js';
import { OPERATIONS, type Operation } from './operations.js';
import { VICTIMS, type World } from './world.js';

/** What one round did. */
export interface Round {
  readonly operation: string;
  readonly moment: Moment;
  readonly kills: readonly string[];
}

const MOMENT_WITHIN_MS = 15_000;

/** One round: something changes, an operation runs, processes are ended in its middle and started again. */
export async function killRound(
  world: World,
  random: Random,
  operations: readonly Operation[] = OPERATIONS,
): Promise<Round> {
  await change(world, random);
  const watch = new RunWatch(world.lakeFolder, random.pick(world.resources));
  await watch.begin();
  const operation = random.pick(operations);
  const moment = random.pick(MOMENTS);
  const victims = [
    ...new Set([random.pick(VICTIMS), ...(random.share() < 0.3 ? [random.pick(VICTIMS)] : [])]),
  ];
  const signals = victims.map(() => (random.share() < 0.25 ? 'SIGTERM' : 'SIGKILL') as 'SIGTERM' | 'SIGKILL');
  const [delay, away] = [random.below(moment === 'start' ? 1500 : 120), random.below(1500)];

  let over = false;
  const running = operation.run(world).finally(() => {
    over = true;
  });
  running.catch(() => {});
  const until = Date.now() + MOMENT_WITHIN_MS;
  while (!over && Date.now() < until && !(await watch.reached(moment))) await pause(2);
  await pause(delay);
  await Promise.all(victims.map((victim, at) => world.kill(victim, signals[at]!)));
  await pause(away);
  await Promise.all(victims.map((victim) => world.restart(victim)));
  const kills = victims.map((victim, at) => `${signals[at]} ${victim}`);
  try {
    await running;
  } catch (error) {
    throw new Error(`${operation.name}, ${kills.join(' and ')} at ${moment}`, { cause: error });
  }
  return { operation: operation.name, moment, kills };
}

async function change(world: World, random: Random): Promise<void> {
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
  const folders = await listRuns(
    world.store,
    resource,
    'changes',
    await listDates(world.store, resource, 'changes'),
  );
  let inserted = 0;
  let latest = true;
  for await (const { runId } of publishedRuns(world.store, pointer, folders)) {
    const changes = manifestOf(resource, 'changes', folders, runId)!;
    const { counts } = decodeManifest(await world.store.read(changes), folderOf(changes));
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
