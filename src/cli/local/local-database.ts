import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ServerStartError, type TemporalDevServer } from '../../servers/index.js';

/** The files that SQLite keeps next to a database. */
const PARTS = ['', '-wal', '-shm', '-journal'];

/**
 * Starts a Temporal server on the database of a folder. A new database is created under another name and gets its own when
 * it is complete, so that an interrupted start leaves none that a later one cannot use. A database that the server cannot
 * use is set aside, and the server starts with a new one: the lake has the checkpoints.
 *
 * @param start starts the server on a file
 * @param note tells the user that a database was set aside
 * @throws ServerStartError
 */
export async function startOnDatabase(
  folder: string,
  start: (file: string) => Promise<TemporalDevServer>,
  note: (message: string) => void,
): Promise<TemporalDevServer> {
  const file = join(folder, 'temporal.db');
  if (!existsSync(file)) await create(file, start);
  try {
    return await start(file);
  } catch (error) {
    if (!(error instanceof ServerStartError) || error.isByMachine || !error.hasEnded) throw error;
    const aside = `${file}.unusable`;
    move(file, aside);
    try {
      await create(file, start);
    } catch (other) {
      // The database was not the reason.
      move(aside, file);
      throw other;
    }
    note(
      `Temporal could not use the state in ${file}. It was set aside as ${aside}, and the export starts with new state: the checkpoints are in the lake.`,
    );
    return start(file);
  }
}

async function create(file: string, start: (file: string) => Promise<TemporalDevServer>): Promise<void> {
  const draft = `${file}.new`;
  remove(draft);
  try {
    const server = await start(draft);
    await server.stop();
    move(draft, file);
  } finally {
    remove(draft);
  }
}

function move(from: string, to: string): void {
  remove(to);
  for (const part of PARTS) if (existsSync(from + part)) renameSync(from + part, to + part);
}

function remove(file: string): void {
  for (const part of PARTS) rmSync(file + part, { force: true });
}
