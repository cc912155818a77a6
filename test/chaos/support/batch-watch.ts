import { join } from 'node:path';
import { list, RunWatch } from './moments.js';

/** A point in a batch where processes are killed. */
export const BATCH_MOMENTS = ['start', 'plan', 'send', 'middle', 'results', 'read-back'] as const;
export type BatchMoment = (typeof BATCH_MOMENTS)[number];

/** Reads the progress of a new batch from the disk of the S3 server, as `RunWatch` does for runs. */
export class BatchWatch {
  readonly #folder: string;
  readonly #readBack: RunWatch;
  #known = new Set<string>();

  constructor(lakeFolder: string, resource: string) {
    this.#folder = join(lakeFolder, '_write-back');
    this.#readBack = new RunWatch(lakeFolder, resource);
  }

  /** Ignores all batches that exist now. */
  async begin(): Promise<void> {
    this.#known = new Set(await list(this.#folder));
    await this.#readBack.begin();
  }

  async reached(moment: BatchMoment): Promise<boolean> {
    if (moment === 'start') return true;
    if (moment === 'read-back') return this.#readBack.reached('extract');
    const batch = (await list(this.#folder)).find((name) => !this.#known.has(name));
    if (batch === undefined) return false;
    if (moment === 'plan') return (await list(join(this.#folder, batch))).length > 0;
    const plans = join(this.#folder, batch, '_batch', 'plans');
    for (const plan of await list(plans)) {
      const logs = await list(join(plans, plan, 'log'));
      const chunks = await list(join(plans, plan, 'rows'));
      const done = logs.filter((name) => name.endsWith('.done.json')).length;
      if (moment === 'send' && logs.length > 0) return true;
      if (moment === 'middle' && done > 0 && done >= chunks.length / 2) return true;
      if (moment === 'results' && done > 0 && done === chunks.length) return true;
    }
    return false;
  }
}
