import { WorkflowNotFoundError } from '@temporalio/client';
import { str } from '@temporalio/common';
import { type DeploymentVersion, isSameVersion } from '../../core/deployment-version.js';
import { groupBy } from '../../core/group-by.js';
import { inParallel } from '../../core/in-parallel.js';
import { callOnce, type RepeatCall, type TemporalClient, withDeadline } from '../client/connect.js';
import { pinnedVersion, type Silence, silenceText } from '../status/silence.js';
import { type Poller, readPollers } from '../status/workers.js';

/** A running workflow that stays on a build without workers. */
export interface StuckWork {
  readonly workflowId: string;
  readonly runId: string;
  readonly silence: Extract<Silence, { readonly kind: 'no-build' }>;
}

/** Those of one page of the server's list, and the workers that polled when it was read. */
export interface StuckPage {
  readonly stuck: readonly StuckWork[];
  readonly workers: readonly Poller[];
}

/** Workflows of a connection that stay on builds without workers. */
export interface WaitingWork {
  /** The newest, at most 100, and at most 400 of all connections. */
  readonly first: readonly StuckWork[];
  /** The number of all. */
  readonly count: number;
}

/** Workflows of one page of the server's list. */
const PAGE = 500;
/** Workflows of a connection that are named. */
const NAMED = 100;
/** Workflows of all connections that are described to name them. */
const DESCRIBED = 400;
const CONCURRENCY = 8;

/**
 * The running workflows of a task queue that stay on a build without a worker that polls, such as an export whose workers
 * were stopped too early. Costs a request for each 500 workflows that stay on a build, those of `readPollers` for each such
 * page, and one for each workflow that is stuck.
 *
 * @param taskQueue of the workers
 * @returns the newest first; none if the server has no worker versions
 * @throws an SDK error if Temporal does not answer
 * @example
 * for (const { workflowId } of await stuckWork(temporal, 'worktrack')) console.log(workflowId);
 */
export async function stuckWork(
  temporal: TemporalClient,
  taskQueue: string,
  timeoutMs?: number,
): Promise<readonly StuckWork[]> {
  const all: StuckWork[] = [];
  for await (const { stuck } of stuckPages(temporal, taskQueue, timeoutMs)) all.push(...stuck);
  return all;
}

/**
 * The same, page by page, so that memory does not grow with their number.
 *
 * @param repeat repeats a call to the server that does not answer. Default: each call is made once
 */
export async function* stuckPages(
  temporal: TemporalClient,
  taskQueue: string,
  timeoutMs?: number,
  repeat?: RepeatCall,
): AsyncGenerator<StuckPage> {
  for await (const { suspects, workers } of suspectPages(temporal, taskQueue, timeoutMs, repeat))
    yield { stuck: await confirmed(temporal, suspects, workers, timeoutMs, repeat), workers };
}

/**
 * The same by connection, for people. Describes at most 400 workflows besides the pages, 8 at a time; the others are counted as
 * the server lists them.
 *
 * @param connections the names of those to read. Default: all
 */
export async function waitingWork(
  temporal: TemporalClient,
  taskQueue: string,
  connections?: readonly string[],
  timeoutMs?: number,
): Promise<ReadonlyMap<string, WaitingWork>> {
  const found = new Map<string, { readonly first: StuckWork[]; count: number }>();
  const wanted = connections && new Set(connections);
  let requests = DESCRIBED;
  for await (const { suspects, workers } of suspectPages(temporal, taskQueue, timeoutMs)) {
    const groups = [...groupBy(suspects, connectionOf)].flatMap(([connection, left]) => {
      if (wanted?.has(connection) === false) return [];
      const waiting = found.get(connection) ?? { first: [], count: 0 };
      found.set(connection, waiting);
      waiting.count += left.length;
      return [{ waiting, left }];
    });
    for (;;) {
      // Of all connections together, because each may have only a few.
      const next = groups.flatMap(({ waiting, left }) => {
        const taken = left.splice(0, Math.min(NAMED - waiting.first.length, requests));
        requests -= taken.length;
        return taken.map((suspect) => ({ ...suspect, waiting }));
      });
      if (next.length === 0) break;
      const stuck = await confirmed(temporal, next, workers, timeoutMs);
      const byId = new Map(stuck.map((work) => [work.workflowId, work]));
      for (const { workflowId, waiting } of next) {
        const work = byId.get(workflowId);
        if (work === undefined) waiting.count--;
        else waiting.first.push(work);
      }
    }
  }
  return found;
}

/** The connection in a workflow's id; empty for a workflow without one. */
function connectionOf({ workflowId }: Suspect): string {
  return /^worktrack\/([^/]+)\//.exec(workflowId)?.[1] ?? '';
}

/** What to say about the workflows that are named, and about the others. Each message is a sentence without its full stop. */
export function waitingTexts({ first, count }: WaitingWork): ReturnType<typeof silenceText>[] {
  const texts = first.map(({ silence }) => silenceText(silence));
  const others = count - first.length;
  if (others <= 0) return texts;
  const number = texts.length === 0 ? `${others}` : `${others} more`;
  const message = `${number} ${others === 1 ? 'workflow waits' : 'workflows wait'} for builds without workers`;
  const remedy = 'Start workers of their builds, or move all of them to the current one: `worktrack unpin`.';
  return [...texts, { message, remedy }];
}

/**
 * How many running workflows of a task queue stay on a version, as the server counts them to tell whether the version has
 * drained. Costs one request.
 *
 * @throws an SDK error if Temporal does not answer
 */
export async function countPinned(
  temporal: TemporalClient,
  taskQueue: string,
  version: DeploymentVersion,
): Promise<number> {
  const names = listedNames(version).map(quoted).join(', ');
  const query = `${pinnedTo(taskQueue)} AND ${VERSION_ATTRIBUTE} IN (${names})`;
  return (await withDeadline(temporal, () => temporal.client.workflow.count(query))).count;
}

/** A workflow that stays on a build without workers, as the server lists it. The list can be some seconds old. */
interface Suspect {
  readonly workflowId: string;
}

interface SuspectPage {
  readonly suspects: readonly Suspect[];
  readonly workers: readonly Poller[];
}

async function* suspectPages(
  temporal: TemporalClient,
  taskQueue: string,
  timeoutMs?: number,
  repeat: RepeatCall = callOnce,
): AsyncGenerator<SuspectPage> {
  for await (const page of pinnedPages(temporal, taskQueue, timeoutMs, repeat)) {
    const workers = await repeat(() => readPollers(temporal, taskQueue, timeoutMs));
    const served = new Set(workers.flatMap(({ version }) => (version === null ? [] : listedNames(version))));
    yield { suspects: page.filter(({ version }) => version === null || !served.has(version)), workers };
  }
}

/** What is still true of the suspects now. */
async function confirmed(
  temporal: TemporalClient,
  suspects: readonly Suspect[],
  workers: readonly Poller[],
  timeoutMs?: number,
  repeat: RepeatCall = callOnce,
): Promise<readonly StuckWork[]> {
  const found = await inParallel(suspects, CONCURRENCY, async ({ workflowId }): Promise<StuckWork[]> => {
    const handle = temporal.client.workflow.getHandle(workflowId);
    const describe = () => withDeadline(temporal, () => handle.describe(), timeoutMs);
    const described = await repeat(describe).catch(unlessGone);
    const version = described === null ? null : pinnedVersion(described);
    if (described?.status.name !== 'RUNNING' || version === null) return [];
    if (workers.some((one) => isSameVersion(one.version, version))) return [];
    return [{ workflowId, runId: described.runId, silence: { kind: 'no-build', workflowId, version } }];
  });
  return found.flat();
}

/** `null` for a workflow that has ended and is no longer retained. */
function unlessGone(error: unknown): null {
  if (error instanceof WorkflowNotFoundError) return null;
  throw error;
}

interface PinnedWork extends Suspect {
  /** The version that it stays on, as the server lists it; `null`: it does not say. */
  readonly version: string | null;
}

/** The pages of the workflows that stay on a build, without those that are empty. */
async function* pinnedPages(
  temporal: TemporalClient,
  taskQueue: string,
  timeoutMs: number | undefined,
  repeat: RepeatCall,
): AsyncGenerator<readonly PinnedWork[]> {
  const { client, namespace } = temporal;
  const request = { namespace, query: pinnedTo(taskQueue), pageSize: PAGE };
  let nextPageToken: Uint8Array = new Uint8Array();
  do {
    const page = { ...request, nextPageToken };
    const list = () => client.workflowService.listWorkflowExecutions(page);
    const answer = await repeat(() => withDeadline(temporal, list, timeoutMs));
    const pinned = (answer.executions ?? []).flatMap(({ execution, searchAttributes }): PinnedWork[] => {
      const version = listedVersion(searchAttributes?.indexedFields?.[VERSION_ATTRIBUTE]?.data);
      return execution?.workflowId ? [{ workflowId: execution.workflowId, version }] : [];
    });
    if (pinned.length > 0) yield pinned;
    nextPageToken = answer.nextPageToken ?? new Uint8Array();
  } while (nextPageToken.length > 0);
}

/** The version that a workflow stays on, with regard to an override. */
const VERSION_ATTRIBUTE = 'TemporalWorkerDeploymentVersion';

/** The value of a search attribute of one word. */
function listedVersion(json: Uint8Array | null | undefined): string | null {
  if (json == null) return null;
  try {
    const value: unknown = JSON.parse(str(json));
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}

/** How servers write a version in that attribute: since 1.28 with a colon, before with a dot. */
function listedNames({ deploymentName, buildId }: DeploymentVersion): string[] {
  return [`${deploymentName}:${buildId}`, `${deploymentName}.${buildId}`];
}

/** The query of the running workflows of a task queue that stay on a build. */
function pinnedTo(taskQueue: string): string {
  return `TaskQueue = ${quoted(taskQueue)} AND ExecutionStatus = 'Running' AND TemporalWorkflowVersioningBehavior = 'Pinned'`;
}

/** Quotes a value in a list filter of Temporal. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
