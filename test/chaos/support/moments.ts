import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A point in a run where processes are killed. A run stages in the lake only once it has spilled; see `SPILLED`.
 */
export const MOMENTS = ['start', 'extract', 'merge', 'parts', 'publish', 'after'] as const;
/** Moments of a run in the lake. */
export const SPILLED: readonly string[] = ['extract', 'merge'];
/** The same for a run that merges its chunks into larger ones while it reads. */
export const LONG_MOMENTS = ['longer run', 'longer run is staged', 'merge'] as const;
export type Moment = (typeof MOMENTS)[number] | (typeof LONG_MOMENTS)[number];

/** The first object in a run's staging folder that shows the moment. */
const STAGED: Partial<Record<Moment, RegExp>> = {
  extract: /^stage-/,
  'longer run': /^run-\d/,
  'longer run is staged': /^stage-\d+-\d+-9\d{5}/,
};

/**
 * Reads the progress of a resource's runs from the disk of the S3 server, without a request: a request could delay the
 * run, and the kill would then hit a different point.
 */
export class RunWatch {
  readonly #folder: string;
  readonly #resource: string;
  #known = new Set<string>();

  constructor(lakeFolder: string, resource: string) {
    this.#folder = lakeFolder;
    this.#resource = resource;
  }

  /** Ignores all runs that exist now. */
  async begin(): Promise<void> {
    this.#known = new Set([...(await this.#staged()), ...(await this.#runs()).map(({ run }) => run)]);
  }

  async reached(moment: Moment): Promise<boolean> {
    if (moment === 'start') return true;
    const staged = (await this.#staged()).filter((run) => !this.#known.has(run));
    if (moment === 'merge')
      return (await Promise.all(staged.map((run) => this.#isPlanned(run)))).includes(true);
    const file = STAGED[moment];
    if (file !== undefined) {
      for (const run of staged) {
        const names = await list(join(this.#folder, '_staging', this.#resource, run));
        if (names.some((name) => file.test(name))) return true;
      }
      return false;
    }
    const fresh = (await this.#runs()).filter(({ run }) => !this.#known.has(run));
    if (moment === 'parts') return fresh.length > 0;
    for (const { run, date } of fresh) {
      const folder = join(this.#folder, this.#resource, 'changes', date, `run=${run}`);
      if (!(await list(folder)).includes('_datapackage.json')) continue;
      // A run is published when its staging folder is removed.
      if (moment === 'publish' || !staged.includes(run)) return true;
    }
    return false;
  }

  /** Whether the journal of a run has a plan of its merge. */
  async #isPlanned(run: string): Promise<boolean> {
    const journal = join(this.#folder, '_staging', this.#resource, run, 'run.json');
    return (await readFile(journal, 'utf8').catch(() => '')).includes('"phase":"merge"');
  }

  #staged(): Promise<string[]> {
    return list(join(this.#folder, '_staging', this.#resource));
  }

  async #runs(): Promise<{ run: string; date: string }[]> {
    const changes = join(this.#folder, this.#resource, 'changes');
    const runs: { run: string; date: string }[] = [];
    for (const date of await list(changes)) {
      for (const name of await list(join(changes, date))) runs.push({ run: name.replace('run=', ''), date });
    }
    return runs;
  }
}

/** Names in a folder; none where there is no folder. */
export async function list(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
