import { Context } from '@temporalio/activity';
import type { UtcSeconds } from '../../src/core/brands.js';
import type { Activities, BeginRunInput } from '../../src/core/contract.js';
import type { ResourceSettings } from '../../src/core/settings.js';
import { hasPlainId, keyFingerprint } from '../../src/lake/profile.js';
import type { Before, RunFile } from '../../src/lake/run-file.js';
import { ColumnSet } from '../../src/lake/schema.js';
import type { ActivityDeps, OpenConnection } from '../deps.js';
import { readRunIfThere, writeRun } from '../documents.js';
import { finalFailure } from '../failures.js';
import { heartbeating } from '../heartbeat.js';
import { passFence, readBefore } from './before.js';
import { checkConditionalWrites } from './conditional-writes.js';
import { inheritance } from './left-behind.js';
import { checkOrganization } from './organization.js';
import { findResumable } from './resume.js';

/**
 * Reads the configuration and the pointer, checks that this mirror may write, and fixes what the run keeps to in
 * its run file. An empty mirror takes up what it finds in the lake.
 */
export function createBeginRun(deps: ActivityDeps): Activities['worktrack.beginRun'] {
  return (input) =>
    heartbeating(async () => {
      const connection = deps.connection(input.connection);
      // An attempt before this one may have fixed it already, from its worker's configuration.
      const run =
        (await readRunIfThere(connection.store, input)) ?? (await fixRun(connection, input, deps.now()));
      return {
        mode: run.mode,
        reconcile: run.reconcile,
        proof: run.resource.fetchById && hasPlainId(run.resource) ? 'by-id' : 'second-pass',
        pageSize: run.sync.pageSize,
        giveUpAfterMs: run.giveUpAfterMs,
        resumed: run.resumed,
        // What left the window since can be had from nowhere else; the rest comes from the service again.
        reapply: run.leftBehind.length > 0 && run.resource.windowMs !== null && run.resumed === null,
      };
    });
}

async function fixRun(connection: OpenConnection, input: BeginRunInput, now: number): Promise<RunFile> {
  const { settings, store } = connection;
  const resource = settings.resources.find(({ name }) => name === input.resource);
  if (resource === undefined) {
    throw finalFailure(
      'Configuration',
      `connection "${input.connection}" has no resource "${input.resource}" any more`,
    );
  }
  await checkConditionalWrites(store, now);
  const { found, outcome } = await passFence(store, { ...input, baseUrl: settings.baseUrl });
  const before = found === null ? null : await readBefore(store, found);
  if (before !== null) {
    checkKey(resource, before);
    if (!input.adopt) await checkOrganization(connection, Context.current().cancellationSignal);
  }
  const checkpoint = checkpointOf(input, before, outcome);
  const reconcile = before !== null && mayReconcile(resource) && isDue(input, settings.sync.reconcileEveryMs);
  const mode = checkpoint === null || before === null || reconcile ? 'full' : input.mode;
  const left = found === null ? NOTHING_LEFT : await inheritance(store, resource.name, found.pointer);
  const question = {
    connection: input.connection,
    baseUrl: settings.baseUrl,
    resource,
    mode,
    updatedSince: mode === 'increment' ? (input.since ?? checkpoint) : null,
    checkpoint,
    before,
    leftBehind: left.leftBehind,
  };
  const again =
    input.resumable === null
      ? null
      : await findResumable(store, question, { failed: input.resumable, now: input.startedAt });
  return writeRun(store, input, {
    ...question,
    sync: settings.sync,
    http: settings.http,
    runId: input.runId,
    startedAt: input.startedAt,
    readSince: again?.readSince ?? input.startedAt,
    nominalStart: input.nominalStart,
    warnings: [],
    giveUpAfterMs: settings.retries.giveUpAfterMs,
    retention: settings.retention,
    reconcile,
    columns: new ColumnSet(resource.key, [...(before?.columns ?? []), ...left.columns]).toColumns(),
    resumed: again?.resumed ?? null,
  });
}

const NOTHING_LEFT = { columns: [], leftBehind: [] };

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

function isDue(input: BeginRunInput, everyMs: number | null): boolean {
  const { reconcile, reconciledAt, startedAt, since } = input;
  if (reconcile) return true;
  // Who asks for a stretch of time does not want everything read.
  if (everyMs === null || reconciledAt === null || since !== null) return false;
  return startedAt - reconciledAt >= everyMs;
}

/** Of a snapshot taken over from the lake, its own checkpoint: the mirror's belongs to another snapshot. */
function checkpointOf(input: BeginRunInput, before: Before | null, fence: string): UtcSeconds | null {
  if (fence === 'empty') return null;
  if (fence === 'adopted') return before?.checkpoint ?? null;
  return input.checkpoint?.updatedSince ?? before?.checkpoint ?? null;
}
