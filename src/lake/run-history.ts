import type { RunId } from '../core/brands.js';
import type { ChainedRun, RunChain } from './chain.js';
import { DamagedError } from './damaged-error.js';
import type { Manifest } from './manifest.js';

/**
 * The last published runs, newest first, as the manifests of their change logs tell of them. Costs one object a run,
 * `most` at most, however old the lake is. Ends early where a manifest is missing or cannot be read.
 */
export async function readHistory(chain: RunChain, most: number): Promise<Manifest[]> {
  const runs: Manifest[] = [];
  for await (const { manifest } of readable(chain)) {
    if (runs.push(manifest) >= most) break;
  }
  return runs;
}

/**
 * The history as it was at an earlier run. Costs one object for each run since.
 *
 * @returns `null` when the run is not on the chain
 */
export async function readHistoryAt(
  chain: RunChain,
  { runId, most }: { readonly runId: RunId; readonly most: number },
): Promise<Manifest[] | null> {
  const runs: Manifest[] = [];
  for await (const { manifest } of readable(chain)) {
    if (runs.length === 0 && manifest.runId !== runId) continue;
    if (runs.push(manifest) >= most) break;
  }
  return runs.length === 0 ? null : runs;
}

async function* readable(chain: RunChain): AsyncGenerator<ChainedRun> {
  try {
    yield* chain;
  } catch (error) {
    if (!(error instanceof DamagedError)) throw error;
  }
}
