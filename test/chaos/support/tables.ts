import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunId } from '../../../src/core/brands.js';
import { tableKeys } from '../../../src/lake/documents/lake-layout.js';
import { readChain } from '../../../src/lake/published/chain.js';
import { checkTable } from '../../../src/table/index.js';
import { decodeCommit } from '../../../src/table/log/actions.js';
import { listSizes } from '../../../src/table/log/maintain.js';
import { readTable } from '../../../src/table/log/read-table.js';
import { readPointer } from '../../support/snapshot.js';
import type { World } from './world.js';

/** A point between the swap of the pointer and the end of the step that makes the table follow. */
export const TABLE_MOMENTS = ['the swap', 'a data file', 'the commit', 'the clean-up'] as const;
export type TableMoment = (typeof TABLE_MOMENTS)[number];

/** Sees the progress of a table on the disk of the S3 server, without a request that could delay it. */
export class TableWatch {
  readonly #folder: string;
  #before: Seen = { pointer: '', files: 0, commits: 0 };

  constructor(lakeFolder: string, resource: string) {
    this.#folder = join(lakeFolder, resource);
  }

  async begin(): Promise<void> {
    this.#before = await this.#look();
  }

  async reached(moment: TableMoment): Promise<boolean> {
    const { pointer, files, commits } = await this.#look();
    const before = this.#before;
    if (moment === 'the swap') return pointer !== before.pointer;
    return moment === 'a data file' ? files > before.files : commits > before.commits;
  }

  async #look(): Promise<Seen> {
    const table = join(this.#folder, 'table');
    const names = (folder: string) => readdir(folder).catch(() => [] as string[]);
    const pointer = await readFile(join(this.#folder, 'latest.json')).catch(() => Buffer.alloc(0));
    return {
      pointer: createHash('sha256').update(pointer).digest('hex'),
      files: (await names(table)).filter((name) => name.endsWith('.parquet')).length,
      commits: (await names(join(table, '_delta_log'))).filter((name) => name.endsWith('.json')).length,
    };
  }
}

interface Seen {
  readonly pointer: string;
  readonly files: number;
  readonly commits: number;
}

/** The published runs, oldest first. */
async function publishedRuns({ store }: World, resource: string): Promise<RunId[]> {
  const runs: RunId[] = [];
  for await (const { runId } of readChain(store, await readPointer(store, resource))) runs.push(runId);
  return runs.reverse();
}

/**
 * Checks a table whose writer may be dead: each version is a published run, in order and without a gap, and every file
 * that the newest version names exists.
 *
 * @returns the number of published runs that have no version yet
 */
export async function checkVersions(world: World, resource: string): Promise<number> {
  const { store } = world;
  const { state } = await readTable(store, resource);
  const shown: (string | undefined)[] = [];
  for (let version = 0; version <= state.version; version++) {
    const actions = decodeCommit(await store.read(tableKeys(resource).commit(version)));
    shown.push(actions.find(({ commitInfo }) => commitInfo !== undefined)?.commitInfo?.userMetadata);
  }
  const runs = await publishedRuns(world, resource);
  if (JSON.stringify(shown) !== JSON.stringify(runs.slice(0, shown.length)))
    throw new Error(`${resource}: the versions ${shown.join()} are not the published runs ${runs.join()}`);
  const sizes = await listSizes(store, resource);
  for (const { path, size } of state.files.values())
    if (sizes.get(path) !== size)
      throw new Error(
        `${resource}: version ${state.version} names ${path}, which has ${sizes.get(path)} bytes`,
      );
  return runs.length - shown.length;
}

/** Checks that every published run has a version, and that the newest one is as `latest.json` says. */
export async function checkCaughtUp(world: World, resource: string): Promise<void> {
  const missing = await checkVersions(world, resource);
  const problems = await checkTable(world.store, resource);
  if (missing > 0 || problems.length > 0)
    throw new Error(
      `${resource}: ${missing} runs have no version; ${problems.map(({ text }) => text).join('; ')}`,
    );
}
