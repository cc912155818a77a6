import type { RunId } from '../../core/brands.js';
import { DamagedError } from '../damaged-error.js';
import type { ChainedRun, RunChain } from './chain.js';
import type { Manifest } from './manifest.js';

/**
 * Reads the change-log manifests of the last published runs, newest first. It reads one object for each run, at most
 * `most`, and ends early if a manifest is missing or damaged.
 */
export async function readHistory(chain: RunChain, most: number): Promise<Manifest[]> {
  const runs: Manifest[] = [];
  for await (const { manifest } of readable(chain)) {
    if (runs.push(manifest) >= most) break;
  }
  return runs;
}

/**
 * The history up to an earlier run. It also reads one object for each later run.
 *
 * @returns `null` if the run is not on the chain
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
