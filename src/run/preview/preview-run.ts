import type { DryRunReport, Previewed } from '../../core/contract/index.js';
import { NO_METER } from '../../core/metrics.js';
import { limitWarnings } from '../../core/run-records.js';
import { changesField } from '../../core/schema-changes.js';
import { shownName } from '../../core/text-budget.js';
import { summaryOf } from '../../lake/documents/check-record.js';
import type { RunFile } from '../../lake/documents/run-file.js';
import { schemaChanges } from '../../lake/rows/data-columns.js';
import { type FilesToWrite, filesToWrite } from '../../table/index.js';
import { finalFailure } from '../failures.js';
import { fixedTypes, onThisWorker } from '../publish/delta-table.js';
import { manifestFields } from '../publish/manifest-fields.js';
import { notListedSince, verifyRun } from '../publish/publish-run.js';
import type { RunFindings } from '../publish/run-warnings.js';
import type { Merged, RunAt } from '../staging.js';
import { removeStaged, useOfRun } from './dry-staging.js';
import { writeDiff } from './write-diff.js';

/** Most columns in a report. */
const MOST_COLUMNS = 50;

/**
 * Ends a dry run (docs/how-to/checks.md#see-a-run-before-it-is-published): it verifies the run and judges its checks as for a run that is published, and then
 * removes what is staged. Only the diff stays.
 *
 * @throws what would stop the run
 */
export async function previewRun(at: RunAt, merged: Merged, shifted: boolean): Promise<Previewed> {
  const { staging } = at;
  const verified = await verifyRun({ ...at, deps: { ...at.deps, meter: NO_METER } }, merged, shifted);
  // Only a run that publishes has such an attempt.
  if ('done' in verified)
    throw finalFailure(
      'Transient',
      `${merged.journal.run.resource.name}: another run was published. Try again.`,
    );
  const { run, found } = verified;
  const { parts, changes } = found.sum;
  const notListed = await notListedSince(staging.store, run, found, parts);
  const fields = manifestFields(run, found, { changes, notListed });
  const { counts, warningFacts, schemaChanges: changed = [], deletes, checks } = fields;
  const dryRun: DryRunReport = {
    columns: columnsOf(run, found),
    tableFiles: await tableFilesOf(at, run, found),
    ...(await useOfRun(staging)),
    diff: await writeDiff(at, run, { parts: changes, columns: found.plan.columns }),
  };
  await removeStaged(staging);
  const summary = checks === undefined ? {} : { checks: summaryOf(checks) };
  const warnings = limitWarnings(warningFacts);
  return { counts, warnings, ...changesField(changed), deletes, ...summary, dryRun };
}

function columnsOf(run: RunFile, { plan }: RunFindings): DryRunReport['columns'] {
  const changes = schemaChanges(run.before === null ? [] : run.columns, plan.columns);
  return changes.slice(0, MOST_COLUMNS).map(({ name, added }) => ({ name: shownName(name), types: added }));
}

async function tableFilesOf(
  { connection: { store, settings } }: RunAt,
  { tables, resource: { name } }: RunFile,
  { plan, sum }: RunFindings,
): Promise<FilesToWrite | null> {
  if (tables === null) return null;
  const { columns } = plan;
  const { tempFolder } = onThisWorker(tables, settings);
  return filesToWrite(store, name, {
    parts: sum.parts,
    columns,
    types: fixedTypes(tables, name),
    tempFolder,
  });
}
