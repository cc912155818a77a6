import type { ObjectKey, RunId } from '../core/brands.js';
import { dateOf, inFolder, MANIFEST, runFolder } from './layout.js';
import { type Manifest, readManifest } from './manifest.js';
import type { Pointer } from './pointer.js';
import { parseRunDate } from './run-id.js';
import { listDates, listRuns, manifestOf, type RunFolders } from './runs.js';
import type { ObjectStore } from './store/index.js';

const DAY_MS = 24 * 60 * 60_000;

/** A published run. */
export interface ChainedRun {
  readonly runId: RunId;
  /** Milliseconds since 1970. */
  readonly publishedAt: number;
  /** Key of its change log's manifest. */
  readonly changes: ObjectKey;
  /** Of its change log, as are the parts that it names. */
  readonly manifest: Manifest;
}

/**
 * The published runs of a resource, newest first: the chain of previous runs that begins at `latest.json` (DESIGN 6).
 * Change logs stay for ever, so it runs through their manifests; it ends where one is missing. Each is read when it is
 * asked for, and once, however often the chain is walked.
 */
export class RunChain implements AsyncIterable<ChainedRun> {
  readonly #store: ObjectStore;
  readonly #resource: string;
  readonly #runs: ChainedRun[] = [];
  readonly #seen = new Set<RunId>();
  /** Reads the run behind `#runs`; `null` behind the last. */
  #next: (() => Promise<ChainedRun | null>) | null;
  #folders: Promise<RunFolders> | null = null;

  /** @param newest key of the change log's manifest of the run to begin with; `null` for an empty chain */
  constructor(store: ObjectStore, { resource, changes: newest }: Pick<Pointer, 'resource' | 'changes'>) {
    this.#store = store;
    this.#resource = resource;
    this.#next = newest === null ? null : () => this.#at(newest);
  }

  /** @throws DamagedError where a manifest cannot be read; StoreError */
  async *[Symbol.asyncIterator](): AsyncGenerator<ChainedRun> {
    for (let at = 0; at < this.#runs.length || (await this.#readNext()); at++) yield this.#runs[at]!;
  }

  async #readNext(): Promise<boolean> {
    const run = (await this.#next?.()) ?? null;
    // A run that comes again would mean a ring; there is none unless somebody wrote one.
    if (run === null || this.#seen.has(run.runId)) {
      this.#next = null;
      return false;
    }
    this.#seen.add(run.runId);
    this.#runs.push(run);
    const { previousRunId } = run.manifest;
    this.#next = previousRunId === null ? null : () => this.#find(previousRunId);
    return true;
  }

  /** A run lies under its nominal day: nearly always the day that it began, or the one before, and only then listed. */
  async #find(runId: RunId): Promise<ChainedRun | null> {
    const began = parseRunDate(runId);
    for (const day of [began, began - DAY_MS]) {
      const folder = runFolder(this.#resource, 'changes', dateOf(day), runId);
      const found = await this.#at(inFolder(folder, MANIFEST));
      if (found !== null) return found;
    }
    this.#folders ??= listDates(this.#store, this.#resource, 'changes').then((dates) =>
      listRuns(this.#store, this.#resource, 'changes', dates),
    );
    const key = manifestOf(this.#resource, 'changes', await this.#folders, runId);
    return key === null ? null : this.#at(key);
  }

  async #at(changes: ObjectKey): Promise<ChainedRun | null> {
    const manifest = await readManifest(this.#store, changes);
    if (manifest === null) return null;
    const { runId, publishedAt } = manifest;
    return { runId, publishedAt: Date.parse(publishedAt), changes, manifest };
  }
}

/** The runs that count as published, the last one first: the one of `latest.json`, then its chain. */
export async function* publishedRuns(
  { runId, publishedAt }: Pointer,
  chain: RunChain,
): AsyncGenerator<Pick<ChainedRun, 'runId' | 'publishedAt'>> {
  // It is published, whatever became of its change log.
  yield { runId, publishedAt: Date.parse(publishedAt) };
  for await (const run of chain) if (run.runId !== runId) yield run;
}
