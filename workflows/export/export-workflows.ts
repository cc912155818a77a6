import { ApplicationFailure, isCancellation, setHandler, workflowInfo } from '@temporalio/workflow';
import type { EpochMs, ObjectKey, RunId, UtcSeconds } from '../../src/core/brands.js';
import type {
  BackfillInput,
  DryRunInput,
  DryRunRequest,
  ExportInput,
  ExportProgress,
  ExportResult,
  PurgeInput,
  RollbackInput,
  RunOutcome,
  RunRecord,
} from '../../src/core/contract/index.js';
import {
  failedReport,
  nominalStartOf,
  type RequestSpec,
  runSpec,
  workOf,
} from '../../src/core/mirror-requests.js';
import { limitRecords, toReport } from '../../src/core/run-records.js';
import { cutText } from '../../src/core/text-budget.js';
import { parseSince } from '../../src/core/utc-time.js';
import { activity } from '../shared/activity-options.js';
import { reportAlerts } from '../shared/alert-reports.js';
import { exportDetails, type Progress, showDetails } from '../shared/details.js';
import { exportProgress } from '../shared/messages.js';
import { failureOf } from '../shared/run-errors.js';
import { MirrorRequester } from './mirror-requester.js';

/**
 * Publishes the rows of an earlier published run as a new run, with that run's checkpoint. The next run reads everything.
 *
 * @throws ApplicationFailure `ExportFailed` if that is not possible, with the reason in its details
 * @example
 * const to = '20261121T020000Z-1a2b3c4d';
 * await executeChild(rollbackWorkflow, { args: [{ connection: 'acme', resource: 'tasks', to }] });
 */
export async function rollbackWorkflow({ connection, resource, to }: RollbackInput): Promise<ExportResult> {
  // The check of the request reports anything but a run id.
  return requestRuns({ connection, resources: [resource] }, { kind: 'rollback', to: to as RunId });
}

/**
 * Removes one record from all snapshots and change logs of a resource. If the service still has the record, the next full
 * pass adds it again.
 *
 * @throws ApplicationFailure `ExportFailed` if that is not possible, with the reason in its details
 * @example
 * const key = ['01KM0000000000000000000000'];
 * await executeChild(purgeWorkflow, { args: [{ connection: 'acme', resource: 'tasks', key }] });
 */
export async function purgeWorkflow({ connection, resource, key }: PurgeInput): Promise<ExportResult> {
  return requestRuns({ connection, resources: [resource] }, { kind: 'purge', key });
}

/**
 * Rereads everything, or everything that changed since a time. The requests queue behind nightly runs in the mirror of
 * each resource. A backfill never moves a checkpoint back (docs/explanation/how-it-works.md#checkpoint).
 *
 * @throws ApplicationFailure `ExportFailed` if a resource was not published, with every outcome in its details
 * @example
 * const args = [{ connection: 'acme', resources: ['tasks'], since: '2026-08-01' }] as const;
 * const { runs } = await executeChild(backfillWorkflow, { args: [...args] });
 */
export async function backfillWorkflow(input: BackfillInput): Promise<ExportResult> {
  const reconcile = input.reconcile === true;
  const changes = {
    mode: input.since === undefined || reconcile ? 'full' : 'increment',
    reconcile,
    allowDeletes: input.allowDeletes === true,
    ...adopted(input),
    // An invalid time stays as it is: the check of the request then reports it for each resource.
    since:
      reconcile || input.since === undefined
        ? null
        : (parseSince(input.since) ?? (input.since as UtcSeconds)),
  } as const;
  return requestRuns(input, runSpec(Date.now(), changes));
}

/**
 * Exports all resources of a connection, or the given ones. Schedules start this workflow.
 *
 * @throws ApplicationFailure `ExportFailed` if a resource was not published, with every outcome in its details
 * @example
 * const { runs } = await executeChild(exportWorkflow, { args: [{ connection: 'acme' }] });
 */
export async function exportWorkflow(input: ExportInput): Promise<ExportResult> {
  // An audit publishes no deletes, however many it finds.
  const isAudit = input.dryRun?.audit !== undefined;
  const allowDeletes = isAudit || input.allowDeletes === true;
  const scheduledAt = scheduledTime();
  // An export that allows deletes must also detect them, even if no reconciliation is due tonight.
  const reconcile = allowDeletes || input.reconcile === true;
  const changes = {
    mode: isAudit || input.full === true || input.reconcile === true ? 'full' : 'increment',
    reconcile,
    adopt: input.adopt === true,
    allowDeletes,
    ...adopted(input),
    ...(input.acceptChecks === undefined ? {} : { acceptChecks: input.acceptChecks }),
    ...(scheduledAt === null ? {} : ({ background: true } as const)),
    ...(input.dryRun === undefined ? {} : { dryRun: dryRunOf(input.dryRun) }),
  } as const;
  return requestRuns(input, runSpec(nominalStartOf(scheduledAt, Date.now()), changes));
}

function dryRunOf({ cells, audit }: DryRunInput): DryRunRequest {
  return { ...(cells !== undefined && { cells }), ...(audit && { audit }) };
}

function adopted({ adoptOrganization }: Pick<ExportInput, 'adoptOrganization'>) {
  return adoptOrganization === true ? ({ adoptOrganization: true } as const) : {};
}

/** The scheduled time if a Schedule started this run. */
function scheduledTime(): EpochMs | null {
  const [scheduled] = (workflowInfo().searchAttributes.TemporalScheduledStartTime ?? []) as unknown as Date[];
  return scheduled === undefined ? null : new Date(scheduled).getTime();
}

type Requested = Pick<ExportInput, 'connection' | 'resources' | 'dryRun'>;

/** How often an audit gives way to other requests. */
const MAX_GIVING_WAY = 20;

/** Most bytes of the messages of all resources together. The details of the failure have each of them. */
const MAX_SUMMARY_BYTES = 16_000;

/**
 * Sends the same request to the mirrors of all resources, or of the given ones, in parallel, and collects their reports.
 * A resource that fails does not stop the others (docs/explanation/guarantees.md#partial-failure).
 *
 * @throws ApplicationFailure `ExportFailed` at the end if a run was not published, with every outcome in its details
 */
async function requestRuns(
  { connection, resources: wanted, dryRun }: Requested,
  spec: RequestSpec,
): Promise<ExportResult> {
  const requester = new MirrorRequester(connection);
  const unanswered = new Map<string, RunRecord>();
  let resources: readonly string[] = wanted ?? [];
  const recordOf = (resource: string): RunRecord | null =>
    unanswered.get(resource) ?? requester.report(resource);
  const progress = (): Progress => ({
    connection,
    runs: resources.map((resource) => ({ resource, record: recordOf(resource) })),
  });
  setHandler(exportProgress, () => limitProgress(progress()));

  const work = spec.kind === 'run' ? workOf(spec) : 'manual';
  const planExport = activity('worktrack.planExport', connection, work, { summary: 'list the resources' });
  const plan = await planExport({
    ...{ connection, ...(wanted === undefined ? {} : { resources: wanted }) },
    ...(dryRun === undefined ? {} : { dryRun }),
  });
  resources = plan.resources;
  showDetails(exportDetails(progress()));
  try {
    await Promise.all(resources.map((resource) => requestOrFail(resource)));
  } catch (error) {
    if (isCancellation(error)) await requester.withdrawAll();
    await reportRuns();
    throw error;
  }
  await reportRuns();
  const records = limitRecords(resources.map((resource) => recordOf(resource)!));
  if (dryRun?.audit === undefined)
    return toResult(records, dryRun === undefined ? 'published' : 'would-publish');
  const write = activity('worktrack.writeAudit', connection, work, { summary: 'write the statement' });
  const { statement } = await write({ connection, at: Date.now(), request: dryRun.audit, runs: records });
  const isCompared = records.some(({ outcome }) => outcome !== 'not-compared');
  return toResult(records, isCompared ? 'equal' : 'not-compared', statement);

  /** One report for all resources, so that an outage of the service does not lead to a message for each. */
  async function reportRuns(): Promise<void> {
    const isAudit = dryRun?.audit !== undefined;
    if (!plan.alerts || spec.kind !== 'run' || (dryRun !== undefined && !isAudit)) return;
    const all = limitRecords(resources.flatMap((resource) => recordOf(resource) ?? []));
    // An audit that failed is no failed run.
    const runs = isAudit ? all.filter(({ audit }) => audit !== undefined) : all;
    await reportAlerts({ connection, runs });
  }

  /** The request with the settings that a dry run previews, or with its share of an audit's requests. */
  function previewing(of: Extract<RequestSpec, { kind: 'run' }>, resource: string): typeof of {
    const settings = dryRun?.preview?.settings[resource];
    const { maxRequests: all } = dryRun?.audit ?? {};
    if (all !== undefined) {
      const maxRequests = Math.floor(all / resources.length);
      return { ...of, dryRun: { ...of.dryRun, audit: { ...dryRun?.audit, maxRequests } } };
    }
    return settings === undefined ? of : { ...of, dryRun: { ...of.dryRun, settings } };
  }

  /** If the mirror does not answer, only this resource fails. */
  async function requestOrFail(resource: string): Promise<void> {
    try {
      const request =
        spec.kind === 'run' ? ({ ...previewing(spec, resource), alertedBy: 'sender' } as const) : spec;
      await requester.request(resource, request, resource, plan.giveUpAfterMs);
      // An audit that has given way begins again when no other request waits.
      for (let again = 1; dryRun?.audit !== undefined && again <= MAX_GIVING_WAY; again++) {
        if (recordOf(resource)?.error?.type !== 'GaveWay') break;
        await requester.request(resource, request, `${resource}/${again}`, plan.giveUpAfterMs);
      }
    } catch (error) {
      if (isCancellation(error)) throw error;
      unanswered.set(resource, failedReport(resource, null, failureOf(error)));
    }
    showDetails(exportDetails(progress()));
  }
}

/** The answer to a query has the same limit as a result. */
function limitProgress({ connection, runs }: Progress): ExportProgress {
  const records = limitRecords(runs.flatMap(({ record }) => record ?? []));
  const reports = new Map(records.map((record) => [record.resource, toReport(record)]));
  return {
    connection,
    runs: runs.map(({ resource }) => ({ resource, report: reports.get(resource) ?? null })),
  };
}

/** @param done the outcome if no run has another one */
function toResult(
  records: readonly RunRecord[],
  done: 'published' | 'would-publish' | 'equal' | 'not-compared',
  statement?: ObjectKey,
): ExportResult {
  const runs = records.map(toReport);
  const has = (outcome: RunOutcome): boolean => runs.some((run) => run.outcome === outcome);
  const worst = (['refused', 'failed', 'cancelled'] as const).find(has);
  const outcome = worst ?? (has('different') ? 'different' : done);
  const result: ExportResult = { outcome, runs, ...(statement && { statement }) };
  if (worst === undefined) return result;
  throw ApplicationFailure.create({
    type: 'ExportFailed',
    nonRetryable: true,
    message: cutText(
      runs
        .flatMap((run) => (run.error === null ? [] : [withResource(run.resource, run.error.message)]))
        .join('\n'),
      MAX_SUMMARY_BYTES,
    ),
    details: [result],
  });
}

/** Prefixes the resource, unless the message already names it. */
function withResource(resource: string, message: string): string {
  return message.includes(resource) ? message : `${resource}: ${message}`;
}
