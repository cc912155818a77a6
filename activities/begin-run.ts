import { Context } from '@temporalio/activity';
import type { UtcSeconds } from '../src/core/brands.js';
import type { Activities, BeginRunInput } from '../src/core/contract.js';
import type { ResourceSettings } from '../src/core/settings.js';
import { checkFence } from '../src/lake/fence.js';
import { folderOf, pointerKey } from '../src/lake/layout.js';
import { decodeManifest } from '../src/lake/manifest.js';
import { decodePointer, type Pointer } from '../src/lake/pointer.js';
import { hasPlainId, keyFingerprint } from '../src/lake/profile.js';
import type { Before, RunFile } from '../src/lake/run-file.js';
import type { ObjectStore } from '../src/lake/store/index.js';
import type { ActivityDeps, OpenConnection } from './deps.js';
import { readRunIfThere, writeRun } from './documents.js';
import { finalFailure } from './failures.js';
import { heartbeating } from './heartbeat.js';
import { checkOrganization } from './organization.js';

/**
 * Reads the configuration and the pointer, checks that this mirror may write, and fixes what the run keeps to in
 * its run file. An empty mirror takes up what it finds in the lake.
 */
export function createBeginRun(deps: ActivityDeps): Activities['worktrack.beginRun'] {
  return (input) =>
    heartbeating(async () => {
      const connection = deps.connection(input.connection);
      // An attempt before this one may have fixed it already, from its worker's configuration.
      const run = (await readRunIfThere(connection.store, input)) ?? (await fixRun(connection, input));
      return {
        mode: run.mode,
        reconcile: run.reconcile,
        proof: run.resource.fetchById && hasPlainId(run.resource) ? 'by-id' : 'second-pass',
        pageSize: run.sync.pageSize,
        giveUpAfterMs: run.giveUpAfterMs,
      };
    });
}

async function fixRun(connection: OpenConnection, input: BeginRunInput): Promise<RunFile> {
  const { settings, store } = connection;
  const resource = settings.resources.find(({ name }) => name === input.resource);
  if (resource === undefined) {
    throw finalFailure(
      'Configuration',
      `connection "${input.connection}" has no resource "${input.resource}" any more`,
    );
  }
  const found = await readPointer(store, input);
  const fence = checkFence(found?.pointer ?? null, { ...input, baseUrl: settings.baseUrl });
  if ('message' in fence) throw finalFailure('Displaced', fence.message);

  const before = found === null ? null : await readBefore(store, found);
  if (before !== null) {
    checkKey(resource, before);
    if (!input.adopt) await checkOrganization(connection, Context.current().cancellationSignal);
  }
  const checkpoint = checkpointOf(input, before, fence.outcome);
  const reconcile = before !== null && mayReconcile(resource) && isDue(input, settings.sync.reconcileEveryMs);
  const mode = checkpoint === null || before === null || reconcile ? 'full' : input.mode;
  return writeRun(store, input, {
    connection: input.connection,
    baseUrl: settings.baseUrl,
    resource,
    sync: settings.sync,
    http: settings.http,
    runId: input.runId,
    mode,
    updatedSince: mode === 'increment' ? checkpoint : null,
    checkpoint,
    startedAt: input.startedAt,
    nominalStart: input.nominalStart,
    before,
    warnings: [],
    giveUpAfterMs: settings.retries.giveUpAfterMs,
    retention: settings.retention,
    reconcile,
  });
}

/** Rows are told apart by their key: with another one, the same record would be there twice. */
function checkKey(resource: ResourceSettings, before: Before): void {
  if (keyFingerprint(resource) === keyFingerprint(before.profile)) return;
  throw finalFailure(
    'Configuration',
    `${resource.name}: the key (${resource.key.join(', ')}), its masking, \`csv.lineBreaks\` or \`csv.escapeFormulas\` is not what ` +
      `the snapshot of run ${before.runId} was written with (key ${before.profile.key.join(', ')}). Set it back, or give the ` +
      'connection a new lake URL to start anew.',
  );
}

/** Absence from a list means something only where the list shows everything, or dates say what it must show. */
function mayReconcile({ deletes, windowMs, windowField }: ResourceSettings): boolean {
  return deletes !== 'keep' && (windowMs === null || windowField !== null);
}

function isDue({ reconcile, reconciledAt, startedAt }: BeginRunInput, everyMs: number | null): boolean {
  return reconcile || (everyMs !== null && reconciledAt !== null && startedAt - reconciledAt >= everyMs);
}

/** Of a snapshot taken over from the lake, its own checkpoint: the mirror's belongs to another snapshot. */
function checkpointOf(input: BeginRunInput, before: Before | null, fence: string): UtcSeconds | null {
  if (fence === 'empty') return null;
  if (fence === 'adopted') return before?.checkpoint ?? null;
  return input.checkpoint?.updatedSince ?? before?.checkpoint ?? null;
}

async function readPointer(store: ObjectStore, input: BeginRunInput) {
  const found = await store.readIfExists(pointerKey(input.resource));
  if (found === null) return null;
  try {
    return { pointer: decodePointer(found.body), etag: found.etag };
  } catch (error) {
    throw finalFailure('Lake', `${store.url}/${pointerKey(input.resource)}: ${(error as Error).message}`);
  }
}

async function readBefore(
  store: ObjectStore,
  { pointer, etag }: { pointer: Pointer; etag: string },
): Promise<Before> {
  const found = await store.readIfExists(pointer.snapshot);
  if (found === null) {
    throw finalFailure(
      'Lake',
      `${store.url}/${pointer.snapshot}, the snapshot that latest.json names, is gone. Restore it, or point ` +
        '`latest.json` at an earlier run.',
    );
  }
  const manifest = decodeManifest(found.body, folderOf(pointer.snapshot));
  return {
    runId: pointer.runId,
    etag,
    manifest: pointer.snapshot,
    checkpoint: pointer.checkpoint.updatedSince,
    startedAt: Date.parse(manifest.startedAt),
    rows: manifest.counts.rows,
    fingerprint: manifest.fingerprint,
    columns: manifest.columns,
    parts: manifest.parts,
    profile: { key: manifest.key, csv: manifest.csv, columns: manifest.selection },
  };
}
