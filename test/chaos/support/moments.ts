import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Where in a run something is to happen. */
export const MOMENTS = ['start', 'extract', 'merge', 'publish', 'after'] as const;
export type Moment = (typeof MOMENTS)[number];

/**
 * Sees on the disk of the S3 server how far the runs of a resource are, without a request: a kill must hit what goes on
 * and not what the question made wait.
 */
export class RunWatch {
  readonly #folder: string;
  readonly #resource: string;
  #known = new Set<string>();

  constructor(lakeFolder: string, resource: string) {
    this.#folder = lakeFolder;
    this.#resource = resource;
  }

  /** Takes the runs that there are for old ones. */
  async begin(): Promise<void> {
    this.#known = new Set([...(await this.#staged()), ...(await this.#runs()).map(({ run }) => run)]);
  }

  async reached(moment: Moment): Promise<boolean> {
    if (moment === 'start') return true;
    const staged = (await this.#staged()).filter((run) => !this.#known.has(run));
    if (moment === 'extract' || moment === 'merge') {
      const file = moment === 'extract' ? /^stage-/ : /^plan-/;
      for (const run of staged) {
        const names = await list(join(this.#folder, '_staging', this.#resource, run));
        if (names.some((name) => file.test(name))) return true;
      }
      return false;
    }
    const fresh = (await this.#runs()).filter(({ run }) => !this.#known.has(run));
    for (const { run, date } of fresh) {
      const folder = join(this.#folder, this.#resource, 'changes', date, `run=${run}`);
      if (!(await list(folder)).includes('_datapackage.json')) continue;
      // Published once nothing of it is staged any more.
      if (moment === 'publish' || !staged.includes(run)) return true;
    }
    return false;
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
