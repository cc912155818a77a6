import { createRequire } from 'node:module';
import type { Client, WorkflowHandle } from '@temporalio/client';
import {
  bundleWorkflowCode,
  type ReplayWorkerOptions,
  Runtime,
  Worker,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import * as workflows from '../../workflows/index.js';
import { ConfigurationError, errorMessage } from '../core/errors.js';
import { callOnce, type RepeatCall, type TemporalClient } from './client/connect.js';
import { bundleFor } from './worker/bundle.js';

export interface ReplayedHistory {
  readonly name: string;
  readonly workflowType: string;
  readonly runId: string;
  readonly events: number;
  /** `diverged`: this build issues other commands than recorded. `empty`: no workflow task is completed yet. */
  readonly outcome: 'replayed' | 'diverged' | 'empty';
  /** The difference; `null` unless diverged. */
  readonly error: string | null;
}

/**
 * Replays histories with the workflows of this build, or of your bundle if `options` names one, and yields the outcome
 * of each. A history that diverges does not stop the others. Replay calls no server and runs no activities.
 *
 * @param options options of the SDK's replay worker; set `dataConverter` if payloads are encoded
 * @example
 * const histories = serverHistories(temporal, { taskQueue: 'worktrack' });
 * for await (const { name, outcome } of replayHistories(histories)) console.log(name, outcome);
 */
export async function* replayHistories(
  histories: Iterable<RecordedHistory> | AsyncIterable<RecordedHistory>,
  options: ReplayWorkerOptions = {},
): AsyncGenerator<ReplayedHistory, void, undefined> {
  const bundled = await withBundle(options);
  for await (const recorded of histories) yield await replayOne(recorded, bundled);
}

/** The options with their workflows as one bundle. A replay worker would bundle the workflows of a path each time. */
async function withBundle(given: ReplayWorkerOptions): Promise<ReplayWorkerOptions> {
  let options = given;
  // Plugins may add workflows and interceptors, so they come before the bundle, and not again with each worker.
  for (const plugin of given.plugins ?? [])
    options = (await plugin.configureReplayWorker?.(options)) ?? options;
  const { plugins = [], workflowsPath, bundlerOptions, interceptors, dataConverter = {}, ...rest } = options;
  const { workflowModules = [], ...others } = interceptors ?? {};
  const { payloadConverterPath, failureConverterPath } = dataConverter;
  const bundle = async (): Promise<WorkflowBundleOption> => {
    if (rest.workflowBundle !== undefined) return rest.workflowBundle;
    if (workflowsPath === undefined)
      return bundleFor('index', { converter: dataConverter, interceptorModules: workflowModules });
    const { code } = await bundleWorkflowCode({
      ...bundlerOptions,
      logger: Runtime.instance().logger,
      ...{ workflowsPath, workflowInterceptorModules: workflowModules, plugins },
      ...(payloadConverterPath === undefined ? {} : { payloadConverterPath }),
      ...(failureConverterPath === undefined ? {} : { failureConverterPath }),
    });
    return { code };
  };
  return { ...rest, dataConverter, interceptors: others, workflowBundle: await bundle() };
}

/** Each history gets a separate replay worker (about 20 ms), so that a failure cannot affect the next history. */
async function replayOne(
  { name, history }: RecordedHistory,
  options: ReplayWorkerOptions,
): Promise<ReplayedHistory> {
  const events = history.events ?? [];
  const started = events[0]?.workflowExecutionStartedEventAttributes;
  const about = {
    name,
    workflowType: started?.workflowType?.name ?? '',
    runId: started?.originalExecutionRunId ?? '',
    events: events.length,
  };
  if (!events.some((event) => event.workflowTaskCompletedEventAttributes)) {
    return { ...about, outcome: 'empty', error: null };
  }
  const workflowId = started?.workflowId || name;
  // The generator is lazy: iterating it runs the replay.
  for await (const { error } of Worker.runReplayHistories(options, [{ workflowId, history }])) {
    if (error !== undefined) return { ...about, outcome: 'diverged', error: shortened(error.message) };
  }
  return { ...about, outcome: 'replayed', error: null };
}

/** Extracts the message: the SDK's core formats failures as Rust structures. */
function shortened(message: string): string {
  const [, inner] = /Failure \{ message: "((?:[^"\\]|\\.)*)"/s.exec(message) ?? [];
  return inner === undefined ? message : inner.replace(/\\(["'\\])/g, '$1').replaceAll('\\n', ' ');
}

/** The events of a workflow's run, as the SDK's client fetches them. */
export type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;

/** A history to replay and its name. */
export interface RecordedHistory {
  /** The file name or the workflow id. */
  readonly name: string;
  readonly history: History;
}

/** The fields of an event's JSON form that are checked before the SDK parses the history. */
interface EventJson {
  readonly eventId?: unknown;
  readonly workflowExecutionStartedEventAttributes?: { readonly workflowType?: { readonly name?: unknown } };
}

/**
 * Parses a history from `temporal workflow show --output json` or from a download of the Temporal UI.
 *
 * @throws ConfigurationError if the text is not a complete history
 * @example
 * const recorded = parseHistory('history.json', await readFile('history.json', 'utf8'));
 * for await (const { outcome, error } of replayHistories([recorded])) console.log(outcome, error);
 */
export function parseHistory(name: string, text: string): RecordedHistory {
  const events = eventsOf(name, text);
  const [first] = events;
  if (first?.eventId === undefined) throw invalidHistory(name, 'it has no events');
  if (first.workflowExecutionStartedEventAttributes?.workflowType?.name === undefined)
    throw invalidHistory(
      name,
      `it starts with event ${String(first.eventId)}, not with the start of a workflow`,
    );
  if (hasDecodedPayloads(events)) throw invalidHistory(name, 'its payloads are decoded');
  try {
    return { name, history: readHistoryJson(events) };
  } catch (cause) {
    throw invalidHistory(name, errorMessage(cause), cause);
  }
}

function eventsOf(name: string, text: string): readonly EventJson[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw invalidHistory(name, 'it is not JSON', cause);
  }
  const events: unknown = Array.isArray(json) ? json : (json as { events?: unknown } | null)?.events;
  const isList =
    Array.isArray(events) && events.every((event) => typeof event === 'object' && event !== null);
  if (!isList) throw invalidHistory(name, 'it has no list "events"');
  return events as EventJson[];
}

/** The UI and the `temporal` command can replace encoded payloads by plain values. Such a history cannot be replayed. */
function hasDecodedPayloads(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, inner]) =>
    key === 'payloads' && Array.isArray(inner)
      ? !inner.every((one: unknown) => typeof one === 'object' && one !== null && 'metadata' in one)
      : hasDecodedPayloads(inner),
  );
}

function invalidHistory(name: string, why: string, cause?: unknown): ConfigurationError {
  return new ConfigurationError(`${name} is not a history that can be replayed: ${why}`, {
    remedy:
      'Record it again with `temporal workflow show --workflow-id ID --output json > FILE`, or download it from the UI with encoded payloads.',
    cause,
  });
}

/*
 * The SDK's `historyFromJSON` uses the protobufjs of @temporalio/common with types created by the protobufjs of
 * @temporalio/proto. In a default installation these are two copies, because another package depends on an older
 * protobufjs, and every history fails with "type must be a Type". This reader uses the protobufjs of @temporalio/proto.
 */
interface Enumeration {
  readonly name: string;
  readonly values: Readonly<Record<string, number>>;
}
interface Field {
  resolve(): { readonly resolvedType: MessageType | Enumeration | null };
}
interface MessageType {
  readonly fields: Readonly<Record<string, Field>>;
}
interface ProtoJson {
  fromJson(type: MessageType, json: unknown, options: { ignoreUnknownFields: boolean }): History | null;
}

const common = createRequire(createRequire(import.meta.url).resolve('@temporalio/common'));
const HISTORY = 'temporal.api.history.v1.History';

/**
 * Parses a history from ProtoJSON. Accepts full enumeration names and the short names that some versions of Temporal's
 * tools write (`WorkflowExecutionStarted`). Ignores fields that this SDK does not know.
 *
 * @throws Error if it is not a history
 */
function readHistoryJson(events: readonly object[]): History {
  const root = common('@temporalio/proto') as { lookupType(name: string): MessageType };
  const { fromJson } = createRequire(common.resolve('@temporalio/proto'))(
    'protobufjs/ext/protojson',
  ) as ProtoJson;
  const type = root.lookupType(HISTORY);
  const history = fromJson(type, withFullNames({ events }, type), { ignoreUnknownFields: true });
  if (history === null) throw new Error('it is null');
  return history;
}

/** Replaces short enumeration names by full names. */
function withFullNames(value: unknown, type: MessageType | Enumeration | null): unknown {
  if (Array.isArray(value)) return value.map((inner) => withFullNames(inner, type));
  if (type === null) return value;
  if ('values' in type) return typeof value === 'string' ? fullName(value, type) : value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const field = Object.hasOwn(type.fields, key) ? type.fields[key] : undefined;
      return [key, withFullNames(inner, field?.resolve().resolvedType ?? null)];
    }),
  );
}

function fullName(name: string, { name: enumeration, values }: Enumeration): string {
  const full = `${constantCase(enumeration)}_${constantCase(name)}`;
  return !Object.hasOwn(values, name) && Object.hasOwn(values, full) ? full : name;
}

function constantCase(name: string): string {
  return name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toUpperCase();
}

/** The workflow types of this package. */
const WORKFLOW_TYPES: readonly string[] = Object.keys(workflows).filter((name) => name.endsWith('Workflow'));

export interface ServerHistoriesOptions {
  readonly taskQueue: string;
  /** Only workflows of this connection, by the prefix of their ids. Default: all of the task queue. */
  readonly connection?: string | undefined;
  /** Only this workflow: all of its runs that the server retains. */
  readonly workflowId?: string | undefined;
  /** Maximum number of histories. Default: 100. */
  readonly limit?: number | undefined;
  /** Repeats a call to the server that does not answer. Default: each call is made once. */
  readonly repeat?: RepeatCall | undefined;
}

/**
 * Fetches the histories of this package's workflows from a server, one at a time. Running workflows come first, because
 * an upgrade affects only them.
 *
 * @example
 * const options = { taskQueue: 'worktrack', connection: 'acme', limit: 20 };
 * for await (const { name } of serverHistories(temporal, options)) console.log(name);
 */
export async function* serverHistories(
  { client }: TemporalClient,
  options: ServerHistoriesOptions,
): AsyncGenerator<RecordedHistory, void, undefined> {
  const { repeat = callOnce } = options;
  let left = options.limit ?? 100;
  for (const status of ['=', '!=']) {
    const query = `${queryOf(options)} AND ExecutionStatus ${status} 'Running'`;
    const listed = await repeat(() => firstListed(client, query, left));
    for (const { workflowId, runId } of listed) {
      const history = await repeat(() => client.workflow.getHandle(workflowId, runId).fetchHistory());
      yield { name: workflowId, history };
    }
    left -= listed.length;
  }
}

/** The ids of the first workflows of a list. */
async function firstListed({ workflow }: Client, query: string, most: number) {
  const listed: { readonly workflowId: string; readonly runId: string }[] = [];
  if (most <= 0) return listed;
  for await (const { workflowId, runId } of workflow.list({ query })) {
    listed.push({ workflowId, runId });
    if (listed.length >= most) break;
  }
  return listed;
}

function queryOf({ taskQueue, connection, workflowId }: ServerHistoriesOptions): string {
  if (workflowId !== undefined) return `WorkflowId = ${quoted(workflowId)}`;
  const types = WORKFLOW_TYPES.map(quoted).join(', ');
  const prefix =
    connection === undefined ? '' : ` AND WorkflowId STARTS_WITH ${quoted(`worktrack/${connection}/`)}`;
  return `WorkflowType IN (${types}) AND TaskQueue = ${quoted(taskQueue)}${prefix}`;
}

/** Quotes a value in a list filter of Temporal. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
