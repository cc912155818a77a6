import { selectResources } from '../../config/index.js';
import type { ConnectionSettings, ResourceSettings } from '../../core/settings.js';
import {
  clashingResources,
  type DdlInput,
  type Dialect,
  ddlStatements,
  type Numbers,
  renderDdl,
  type Statement,
  unreadableViews,
} from '../../lake/ddl/ddl.js';
import type { PublishedSnapshot } from '../../lake/published/read-published.js';
import { SnapshotNotFoundError } from '../../lake/published/snapshot-not-found-error.js';
import { maskedColumns } from '../../lake/rows/profile.js';
import {
  type ConnectionSummary,
  connectionLines,
  failedSummary,
  totalLine,
} from '../shared/connection-lines.js';
import { eachConnection } from '../shared/each-connection.js';
import { EXIT, type ExitCode, worstExitCode } from '../shared/exit-code.js';
import { type OpenLake, publishedSnapshot, readDay, withLake } from '../shared/open-lake.js';
import { isSeveral, type SeveralOptions } from '../shared/options.js';
import { output } from '../shared/output.js';
import { chooseConnections, readSettings } from '../shared/settings.js';
import { counted } from '../shared/text.js';
import { UsageError } from '../shared/usage-error.js';

export interface DdlCommandOptions extends SeveralOptions {
  readonly dialect: Dialect;
  readonly resource?: readonly string[];
  readonly numbers: Numbers;
  readonly dt?: string;
}

/**
 * `worktrack ddl`: prints only statements and comments on stdout. If no resource is named, resources without a
 * published snapshot are skipped with a note. With several connections, names of views begin with the connection.
 */
export async function runDdl(options: DdlCommandOptions): Promise<ExitCode> {
  const dt = readDay(options.dt);
  const chosen = chooseConnections(readSettings(options), options);
  if (isSeveral(options)) return ddlOfSeveral(chosen, options, dt);
  const [connection] = chosen as [ConnectionSettings];
  const resources = selectResources(connection, options.resource);
  checkNames(resources.map(({ name }) => name));
  output.source(render(await readInputs(connection, options, { dt })).trimEnd());
  if (dt === undefined) output.note(CURRENT);
  return EXIT.done;
}

const CURRENT =
  'The views RESOURCE and RESOURCE_text read the last run. Print them again after each export. The views that end ' +
  'in _changes and _newest stay current.';

async function ddlOfSeveral(
  chosen: readonly ConnectionSettings[],
  options: DdlCommandOptions,
  dt: string | undefined,
): Promise<ExitCode> {
  checkNames(
    chosen.flatMap((connection) =>
      connection.resources
        .filter(({ name }) => options.resource === undefined || options.resource.includes(name))
        .map(({ name }) => viewOf(connection, name)),
    ),
  );
  const ended = await eachConnection(chosen, async (connection, timeoutMs) => {
    const inputs = await readInputs(connection, options, { dt, timeoutMs, isPrefixed: true });
    return { resources: inputs.length, statements: inputs.flatMap(statementsOf) };
  });
  const summaries = ended.map(({ connection: { name }, result, failure }): ConnectionSummary => {
    if (failure !== null) return failedSummary(name, failure.code, failure.message);
    const detail = counted(result.resources, 'resource');
    return { name, code: EXIT.done, problem: false, state: 'printed', detail, lines: [] };
  });
  const isShown = options.failing !== true;
  const statements = isShown ? ended.flatMap(({ result }) => result?.statements ?? []) : [];
  const lines = connectionLines(summaries, options).map((line) => `-- ${oneLine(line)}`.trimEnd());
  output.source(`${lines.join('\n')}\n\n${renderDdl(statements)}`.trimEnd());
  output.note(totalLine(summaries));
  if (dt === undefined && isShown) output.note(CURRENT);
  return worstExitCode(summaries.map(({ code }) => code));
}

interface ReadOptions {
  readonly dt: string | undefined;
  readonly timeoutMs?: number;
  /** Names of views begin with the connection. */
  readonly isPrefixed?: boolean;
}

async function readInputs(
  connection: ConnectionSettings,
  { resource: wanted, dialect, numbers }: DdlCommandOptions,
  { dt, timeoutMs, isPrefixed = false }: ReadOptions,
): Promise<DdlInput[]> {
  const resources = selectResources(connection, wanted);
  const { found, missing } = await withLake(
    connection,
    (lake) => snapshotsOf(lake, resources, dt),
    timeoutMs,
  );
  if (missing.length > 0 && (wanted !== undefined || found.length === 0)) throw missing[0];
  for (const error of missing) output.note(`Skipped: ${error.describe('. ')}`);
  return found.map(([resource, snapshot]): DdlInput => {
    const view = isPrefixed ? { view: viewOf(connection, resource.name) } : {};
    return withReadableViews({
      ...{ dialect, numbers, lake: connection.lake, ...view },
      ...inputOf(resource, snapshot, dt),
    });
  });
}

function viewOf({ name }: ConnectionSettings, resource: string): string {
  return `${name}_${resource}`;
}

/** A message can have several lines, which would end a comment. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, ' ');
}

/** Leaves out the views of the change logs if the engine cannot read these, but can read the snapshot. */
function withReadableViews(input: DdlInput): DdlInput {
  const unreadable = unreadableViews(input);
  const readable = input.views?.filter((view) => !unreadable.includes(view)) ?? [];
  if (unreadable.includes('current') || readable.length === input.views?.length) return input;
  output.note(
    `${input.resource}: left out the views of the change logs. These have ${input.manifest.changesLineBreaks} line breaks inside ` +
      `cells, which ${input.dialect} cannot read. A new lake URL with \`csv: { lineBreaks: escape }\` starts without them.`,
  );
  return { ...input, views: readable };
}

function checkNames(names: readonly string[]): void {
  const clash = clashingResources(names);
  if (clash === null) return;
  throw new UsageError(
    `the views of ${clash.join(' and ')} have the same names; print them one at a time with --resource`,
  );
}

interface Snapshots {
  readonly found: [ResourceSettings, PublishedSnapshot][];
  readonly missing: SnapshotNotFoundError[];
}

async function snapshotsOf(
  lake: OpenLake,
  resources: readonly ResourceSettings[],
  dt: string | undefined,
): Promise<Snapshots> {
  const snapshots: Snapshots = { found: [], missing: [] };
  for (const resource of resources) {
    try {
      snapshots.found.push([resource, await publishedSnapshot(lake, resource.name, dt)]);
    } catch (error) {
      if (!(error instanceof SnapshotNotFoundError)) throw error;
      snapshots.missing.push(error);
    }
  }
  return snapshots;
}

function inputOf(
  settings: ResourceSettings,
  snapshot: PublishedSnapshot,
  dt: string | undefined,
): Omit<DdlInput, 'dialect' | 'lake'> {
  const { resource, pointer, manifest } = snapshot;
  const names = manifest.columns.map(({ name }) => name);
  // The change log spans runs whose masks may differ, so a column that is masked now or was masked then is text.
  const masked = [
    ...maskedColumns({ ...manifest, columns: manifest.selection }, names),
    ...maskedColumns(settings, names),
  ];
  const common = { resource, pointer, manifest, masked, deletes: settings.deletes };
  return dt === undefined
    ? { ...common, views: ['current', 'changes', 'newest'] }
    : { ...common, views: ['days'], days: [snapshot] };
}

function render(inputs: readonly DdlInput[]): string {
  return renderDdl(inputs.flatMap(statementsOf));
}

/** @throws UsageError if the engine cannot read the lake */
function statementsOf(input: DdlInput): Statement[] {
  try {
    return ddlStatements(input);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(error.message);
  }
}
