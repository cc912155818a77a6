import { selectResources } from '../../config/index.js';
import type { ResourceSettings } from '../../core/settings.js';
import {
  clashingResources,
  type DdlInput,
  DIALECTS,
  type Dialect,
  ddlStatements,
  type Numbers,
  unreadableViews,
} from '../../lake/ddl/ddl.js';
import type { PublishedSnapshot } from '../../lake/published/read-published.js';
import type { DeltaDialect } from '../../table/index.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { readDay, withLake } from '../shared/open-lake.js';
import type { GlobalOptions } from '../shared/options.js';
import { output } from '../shared/output.js';
import { printStatements } from '../shared/print-statements.js';
import { publishedResource, skipUnpublished, snapshotsOf } from '../shared/published-resources.js';
import { readConnection } from '../shared/settings.js';
import { UsageError } from '../shared/usage-error.js';

export interface DdlCommandOptions extends GlobalOptions {
  readonly dialect: DeltaDialect;
  /** Register the Delta tables instead of the CSV files. */
  readonly delta?: boolean;
  readonly resource?: readonly string[];
  readonly numbers: Numbers;
  readonly dt?: string;
}

/**
 * `worktrack ddl`: prints only statements and comments on stdout. If no resource is named, resources without a
 * published snapshot are skipped with a note.
 */
export async function runDdl(options: DdlCommandOptions): Promise<ExitCode> {
  const dt = readDay(options.dt);
  const connection = readConnection(options);
  const resources = selectResources(connection, options.resource);
  checkNames(resources);
  if (options.delta === true)
    return (await import('./ddl-delta.js')).registerTables({ options, connection, resources });
  const dialect = csvDialect(options.dialect);
  const { found, missing } = await withLake(connection, (lake) => snapshotsOf(lake, resources, dt));
  if (missing.length > 0 && options.resource !== undefined) throw missing[0];
  skipUnpublished({ found, missing });
  const inputs = found.map(([resource, snapshot]): DdlInput => {
    return withReadableViews({
      ...{ dialect, numbers: options.numbers, lake: connection.lake },
      ...inputOf(resource, snapshot, dt),
    });
  });
  printStatements(() => inputs.flatMap(ddlStatements));
  if (dt === undefined)
    output.note(
      'The views RESOURCE and RESOURCE_text read the last run. Print them again after each export. The views that end ' +
        'in _changes and _newest stay current.',
    );
  return EXIT.done;
}

/** @throws UsageError for an engine that reads only tables */
function csvDialect(dialect: DeltaDialect): Dialect {
  const found = DIALECTS.find((one) => one === dialect);
  if (found !== undefined) return found;
  throw new UsageError(
    `--dialect ${dialect} reads only Delta tables. Add --delta, or use one of ${DIALECTS.join(', ')}.`,
  );
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

function checkNames(resources: readonly ResourceSettings[]): void {
  const clash = clashingResources(resources.map(({ name }) => name));
  if (clash === null) return;
  throw new UsageError(
    `the views of ${clash.join(' and ')} have the same names; print them one at a time with --resource`,
  );
}

function inputOf(
  settings: ResourceSettings,
  snapshot: PublishedSnapshot,
  dt: string | undefined,
): Omit<DdlInput, 'dialect' | 'lake' | 'numbers'> {
  const common = publishedResource(settings, snapshot);
  return dt === undefined
    ? { ...common, views: ['current', 'changes', 'newest'] }
    : { ...common, views: ['days'], days: [snapshot] };
}
