import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import type { EpochMs, Millis } from '../../core/brands.js';
import {
  auditId,
  DEFAULT_TASK_QUEUE,
  dryRunIds,
  type ExportInput,
  type ExportResult,
  exportWorkflowId,
  type RunReport,
} from '../../core/contract/index.js';
import { formatDuration, MINUTE_MS } from '../../core/duration.js';
import { ConfigurationError } from '../../core/errors.js';
import { withFileLock } from '../../core/file-lock.js';
import { belowHome } from '../../core/home-folder.js';
import type { ProcessIdentity } from '../../core/process-identity.js';
import { parseRunDate } from '../../core/run-id.js';
import type { ConnectionSettings, Settings } from '../../core/settings.js';
import { makeFolder, systemCause } from '../../core/system-error.js';
import { temporaryFolder } from '../../servers/index.js';
import { startExport } from '../../temporal/client/start.js';
import type { GlobalOptions } from '../shared/command-options.js';
import { readTraces } from '../shared/context.js';
import { output } from '../shared/output.js';
import { type LocalTemporal, startLocalTemporal } from '../worker/local-temporal.js';
import { followToEnd } from './start-and-follow.js';

/**
 * `export --local`: runs a Temporal server with its state on disk and a worker in this process until the export ends.
 * The state contains the checkpoint, so the next run is incremental and an interrupted run continues.
 */
export async function runLocalExport(
  options: GlobalOptions,
  settings: Settings,
  connection: ConnectionSettings,
  input: ExportInput,
): Promise<ExportResult> {
  const { folder, isTemporary } = localStateFolder(settings.source, process.env, process.cwd());
  await makeFolder(folder, 0o700).catch((cause: unknown) => {
    const why = isTemporary ? 'HOME cannot be used, nor ' : '';
    throw new ConfigurationError(
      `There is no folder for the state: ${why}${folder}: ${systemCause(cause)}.`,
      { remedy: 'Set XDG_STATE_HOME to a folder where this user can create files.', cause },
    );
  });
  output.note(`State and logs: ${folder}`);
  if (isTemporary)
    output.note(
      'This is a temporary folder, because HOME cannot be used. If it is removed, the next run continues from the checkpoint in the lake. To choose another folder, set XDG_STATE_HOME.',
    );
  const onWait = ({ pid }: ProcessIdentity): void =>
    output.note(
      `Another export --local of this configuration is running (process ${pid}); waiting until it ends`,
    );
  const signal = new AbortController().signal;
  return withFileLock(join(folder, 'lock.json'), { signal, onWait }, async () => {
    const taskQueue = options.taskQueue ?? DEFAULT_TASK_QUEUE;
    const traces = await readTraces(options, output.note);
    const local = await startLocalTemporal({ folder, keepState: true, settings, taskQueue, traces });
    const pauses = openPauseLog(folder);
    if (local.uiUrl !== null) output.note(`Temporal UI while this runs: ${local.uiUrl}`);
    try {
      for (;;) {
        const { result, startedAt } = await Promise.race([exportOnce(local, taskQueue), local.failed]);
        const { giveUpAfterMs } = connection.retries;
        if (!failedByPause(result, startedAt, Date.now(), giveUpAfterMs, pauses.since)) return result;
        const paused = formatDuration(Math.round(pauses.since(startedAt) / 1000) * 1000);
        output.note(
          `The export was paused for ${paused} and failed only because this exceeds ` +
            `retries.giveUpAfter (${formatDuration(giveUpAfterMs)}). Starting it again.`,
        );
      }
    } finally {
      await local.stop();
      pauses.close();
      await traces?.close();
    }
  });

  /** Starts the export, or resumes the one that an earlier command left, and follows it to its end. */
  async function exportOnce({ temporal }: LocalTemporal, taskQueue: string) {
    const workflowId = await startExport(temporal, input, { taskQueue, workflowId: localExportId(input) });
    const { startTime } = await temporal.client.workflow.getHandle(workflowId).describe();
    const { resources } = input;
    const result = await followToEnd(temporal, {
      ...{ workflowId, options, connection, resources, what: 'export', local: true },
    });
    return { result, startedAt: startTime.getTime() };
  }
}

/**
 * Folder of the state that `export --local` keeps between runs: one per configuration file, below
 * `$XDG_STATE_HOME/temporal-worktrack` (default `~/.local/state/temporal-worktrack`). Without a usable home, below the
 * folder of this user in the temporary folder, which the system may empty.
 *
 * @throws ConfigurationError if the temporary folder has such a folder of another user
 */
export function localStateFolder(
  configFile: string,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): { readonly folder: string; readonly isTemporary: boolean } {
  const name = digest(resolve(cwd, configFile));
  const product = 'temporal-worktrack';
  if (env.XDG_STATE_HOME) return { folder: resolve(env.XDG_STATE_HOME, product, name), isTemporary: false };
  // `run` sets HOME if the system has no entry for this user, so `homedir` does not throw.
  const kept = belowHome({ HOME: env.HOME || homedir() }, join('.local', 'state', product));
  return kept === null
    ? { folder: join(temporaryFolder('XDG_STATE_HOME'), 'state', name), isTemporary: true }
    : { folder: join(kept, name), isTemporary: false };
}

/** The workflow id of a local export. Equal requests have the same id, so the same command resumes its export. */
export function localExportId(input: ExportInput): string {
  const { resources = null, full = false, adopt = false, allowDeletes = false, acceptChecks } = input;
  const { adoptOrganization, reconcile, dryRun } = input;
  const request = [
    resources,
    full,
    adopt,
    allowDeletes,
    ...(acceptChecks === undefined ? [] : ['accept']),
    ...(adoptOrganization === true ? ['adopt'] : []),
    ...(reconcile === true ? ['reconcile'] : []),
    ...(dryRun === undefined ? [] : [dryRun]),
  ];
  const idOf = dryRun === undefined ? exportWorkflowId : dryRun.audit === undefined ? dryRunIds : auditId;
  const base = idOf(input.connection);
  return `${base}/local-${digest(JSON.stringify(request))}`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** A period when no server and no worker of this folder ran. */
type Pause = readonly [from: EpochMs, to: EpochMs];

const HEARTBEAT_MS = 5_000;
/** A heartbeat later than this means that the machine slept. */
const SLEEP_THRESHOLD_MS = MINUTE_MS;
const MAX_PAUSES = 100;

/**
 * Records when `export --local` did not run although it had state: between commands, or while the machine slept. Begins with
 * the pause since the last command in this folder, and lives by a heartbeat every few seconds.
 */
export function openPauseLog(folder: string) {
  const file = join(folder, 'pauses.json');
  let { aliveAt, pauses } = read(file);
  /** @param longestMs a later heartbeat than this is a pause */
  const beat = (longestMs: number): void => {
    const now = Date.now();
    if (aliveAt !== null && now - aliveAt > longestMs) pauses = [...pauses, [aliveAt, now]];
    aliveAt = now;
    try {
      const text = JSON.stringify({ aliveAt, pauses: pauses.slice(-MAX_PAUSES) });
      writeFileSync(`${file}.new`, text, { mode: 0o600 });
      renameSync(`${file}.new`, file);
    } catch {
      // For example a full disk, which the server reports. A pause is then recorded too long or not at all.
    }
  };
  beat(0);
  const timer = setInterval(beat, HEARTBEAT_MS, SLEEP_THRESHOLD_MS);
  timer.unref();
  return {
    /** Total length of all pauses since a time. */
    since(time: number): Millis {
      beat(SLEEP_THRESHOLD_MS);
      return pauses.reduce((sum, [from, to]) => sum + Math.max(0, to - Math.max(from, time)), 0);
    },
    close(): void {
      clearInterval(timer);
      beat(SLEEP_THRESHOLD_MS);
    },
  };
}

/**
 * Whether an export failed only because it was paused. A run gives up after `retries.giveUpAfter`, and the server counts
 * the pause, when no attempt was possible.
 *
 * @param startedAt start of the export
 * @param pausedSince total length of all pauses since a time, in milliseconds
 */
export function failedByPause(
  { runs, outcome }: ExportResult,
  startedAt: EpochMs,
  now: number,
  giveUpAfterMs: number,
  pausedSince: (time: number) => number,
): boolean {
  const failed = runs.filter(({ error }) => error !== null);
  return outcome === 'failed' && failed.length > 0 && failed.every(isByPause);

  function isByPause(run: RunReport): boolean {
    // All other errors have another reason than the time limit.
    if (run.error?.type !== 'Transient' && run.error?.type !== 'Failed') return false;
    // Without a run, the export reached its time limit before a run started.
    const began = run.runId === null ? startedAt : parseRunDate(run.runId);
    const paused = pausedSince(began);
    if (run.runId === null) return paused >= Math.min(PLAN_LIMIT_MS, giveUpAfterMs);
    const worked = now - began - paused;
    return paused >= giveUpAfterMs || (now - began >= giveUpAfterMs && worked < giveUpAfterMs);
  }
}

/** Time limit for planning an export; the worker reads its configuration meanwhile. */
const PLAN_LIMIT_MS = 10 * MINUTE_MS;

const PAUSES = z.object({
  aliveAt: z.number(),
  pauses: z.array(z.tuple([z.number(), z.number()])),
});

function read(file: string): { aliveAt: number | null; pauses: readonly Pause[] } {
  try {
    return PAUSES.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    // The first command in this folder, or a damaged file: no pauses are known.
    return { aliveAt: null, pauses: [] };
  }
}
