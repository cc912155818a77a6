import { Context } from '@temporalio/activity';
import type { ByteString, ObjectKey } from '../src/core/brands.js';
import { fromByteString } from '../src/core/brands.js';
import type { Activities, RunRef } from '../src/core/contract.js';
import { inParallel } from '../src/core/in-parallel.js';
import { canBeConcluded } from '../src/lake/deletes.js';
import { findAbsent } from '../src/lake/merge/absent.js';
import { detached, type SortKey } from '../src/lake/row.js';
import type { ActivityDeps } from './deps.js';
import { readDocument, readRun, readStages, stagedKey, writeDocument } from './documents.js';
import { heartbeating } from './heartbeat.js';
import { openSources } from './merge/sources.js';

/** Looks for live rows of the snapshot that none of the readings fetched (DESIGN 3.5). */
export function createFindAbsent(deps: ActivityDeps): Activities['worktrack.findAbsent'] {
  return (input) =>
    heartbeating(async () => {
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
        const counts = canBeConcluded({ ...resource, csv: before.profile.csv }, before.columns, serviceNow);
        const parts = before.parts.filter((part) => part.rows > 0);
        for (const [at, part] of parts.entries()) {
          const reach = chunks.filter((chunk) => chunk.last >= part.first! && chunk.first <= part.last!);
          const sources = await openSources({
            store,
            run,
            columns: null,
            range: { from: part.first, to: parts[at + 1]?.first ?? null },
            before: part.key,
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

/** Asks the service for each record by its id: a 404 proves that it is gone. */
export function createConfirmGone(deps: ActivityDeps): Activities['worktrack.confirmGone'] {
  return (input) =>
    heartbeating(async () => {
      const { client, store, settings } = deps.connection(input.connection);
      const { resource } = await readRun(store, input);
      const among = await readDocument<SortKey[]>(store, input.among);
      const signal = Context.current().cancellationSignal;
      const there = await inParallel(among, settings.http.concurrency, async (key) => {
        const id = fromByteString(key as ByteString);
        return client.fetchById({ resource: resource.name, path: resource.path, id, signal }, () => true);
      });
      const gone = among.filter((_, at) => there[at] === null);
      return write(deps, input, `gone-${Context.current().info.attempt}.json`, gone);
    });
}

async function write(deps: ActivityDeps, ref: RunRef, name: string, keys: readonly SortKey[]) {
  const key: ObjectKey = stagedKey(ref, name);
  await writeDocument(deps.connection(ref.connection).store, key, keys);
  return { keys: key, count: keys.length };
}
