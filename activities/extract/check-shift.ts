import { type ServiceClient, ServiceError } from '../../src/api/index.js';
import type { RunFile } from '../../src/lake/documents/run-file.js';
import type { Mark, Stage } from '../../src/lake/documents/stage-file.js';
import { marksToCheck } from '../../src/lake/run/marks.js';
import { PageReader } from './page-reader.js';
import { keyHash } from './position.js';

/**
 * Requests a few pages of a long reading again and checks that each still begins with the same record
 * (docs/explanation/guarantees.md#full-reads). If cursors are offsets, a deleted record shifts all later records forward
 * without repeating a key, and only this check detects that. At most one request for each sixteen pages, and eight in all.
 *
 * @returns whether a page begins with a different record
 */
export async function hasShifted(
  client: ServiceClient,
  run: RunFile,
  stage: Stage,
  signal: AbortSignal,
): Promise<boolean> {
  for (const mark of marksToCheck(stage.marks, stage.readPages)) {
    try {
      if ((await firstKeyHash(client, run, stage, mark, signal)) !== mark.first) return true;
    } catch (error) {
      // A service may accept each cursor only once. The check is optional, so its errors do not fail the run.
      if (error instanceof ServiceError) return false;
      throw error;
    }
  }
  return false;
}

async function firstKeyHash(
  client: ServiceClient,
  run: RunFile,
  { pageSize, updatedSince, columns }: Stage,
  { cursor }: Mark,
  signal: AbortSignal,
): Promise<string | null> {
  const { name, path } = run.resource;
  const request = { resource: name, path, limit: pageSize, cursor, updatedSince, signal };
  const { value } = await client.listPage(request, (body) => new PageReader(run, columns).read(body));
  const [key] = value.rows.keys;
  return key === undefined ? null : keyHash(key);
}
