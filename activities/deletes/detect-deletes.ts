import { Context } from '@temporalio/activity';
import type { ObjectKey } from '../../src/core/brands.js';
import type { Activities, RunRef } from '../../src/core/contract/index.js';
import { findAbsent } from '../../src/lake/merge/absent.js';
import { detached, type SortKey } from '../../src/lake/rows/row.js';
import { isEligible } from '../../src/lake/run/deletes.js';
import { openSources } from '../merge/sources.js';
import { withHeartbeat } from '../shared/activity-context.js';
import type { ActivityDeps } from '../shared/deps.js';
import { readDocument, readRun, readStages, stagedKey, writeDocument } from '../shared/documents.js';

/** Finds live rows of the base snapshot that no reading of the list has returned (docs/explanation/semantics.md#deletes). */
export function createFindAbsent(deps: ActivityDeps): Activities['worktrack.findAbsent'] {
  return (input) =>
    withHeartbeat(async () => {
      const { store } = deps.connection(input.connection);
      const run = await readRun(store, input);
      const stages = await readStages(store, input.stage);
      const among = input.among === null ? null : new Set(await readDocument<SortKey[]>(store, input.among));
      const chunks = stages
        .filter((stage) => stage.read >= input.sinceRead)
        .flatMap((stage) => stage.chunks)
        .filter((chunk) => chunk.reapplied !== true);
      const { before, resource } = run;
      const keys: SortKey[] = [];
      if (before !== null) {
        const serviceNow = stages.at(-1)!.readStart ?? run.startedAt;
        const counts = isEligible({ ...resource, csv: before.profile.csv }, before.columns, serviceNow);
        const parts = before.parts.filter((part) => part.rows > 0);
        for (const [at, part] of parts.entries()) {
          const reach = chunks.filter((chunk) => chunk.last >= part.first! && chunk.first <= part.last!);
          const sources = await openSources({
            store,
            run,
            columns: null,
            range: { from: part.first, to: parts[at + 1]?.first ?? null },
            before: part,
            chunks: reach,
            signal: Context.current().cancellationSignal,
          });
          await findAbsent(sources, counts, (key) => {
            if (among === null || among.has(key)) keys.push(detached(key));
          });
        }
      }
      return write(deps, input, `absent-${input.sinceRead}-${Context.current().info.attempt}.json`, keys);
    });
}

async function write(deps: ActivityDeps, ref: RunRef, name: string, keys: readonly SortKey[]) {
  const key: ObjectKey = stagedKey(ref, name);
  await writeDocument(deps.connection(ref.connection).store, key, keys);
  return { keys: key, count: keys.length };
}
