import type { SharedServers } from '../support/global-setup.js';
import { type Cells, compareCsv, compareDelta, noCells } from './compare.js';
import type { Engine } from './engines.js';
import type { RecordedLake } from './lakes.js';
import { startSession } from './session.js';

/** Compares every cell that an engine reads after each step of each lake. @returns counts for CSV files and tables */
export async function readLakes(
  engine: Engine,
  lakes: readonly RecordedLake[],
  servers: SharedServers,
): Promise<Readonly<Record<'csv' | 'delta', Cells>>> {
  const found = { csv: noCells(), delta: noCells() };
  const session = await startSession(engine, servers);
  try {
    for (const lake of lakes)
      for (const step of lake.steps.keys()) {
        await lake.restore(step);
        const one = { engine, session, lake, step };
        if (engine.reads.includes('csv')) await compareCsv(one, found.csv);
        if (engine.reads.includes('delta')) await compareDelta(one, found.delta);
      }
  } finally {
    await session.stop();
  }
  return found;
}
