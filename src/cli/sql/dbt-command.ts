import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigurationError } from '../../core/errors.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { systemCause } from '../../core/system-error.js';
import {
  type FilePlan,
  isGenerated,
  ownerOf,
  type ProjectFile,
  type ProjectOwner,
  planFile,
  renderFile,
} from '../../sql/dbt/file.js';
import { DBT_ADAPTERS, type DbtAdapterName, dbtProject, GENERATED_FOLDERS } from '../../sql/dbt/project.js';
import type { PublishedResource } from '../../sql/ddl/published-sources.js';
import { publishedResource } from '../../sql/ddl/published-sources.js';
import { clashingResources, unreadableViews } from '../../sql/ddl/statements.js';
import { EXIT, type ExitCode, orUsageError, UsageError } from '../shared/choose-exit-code.js';
import type { GlobalOptions } from '../shared/command-options.js';
import { readConnection } from '../shared/each-connection.js';
import { withLake } from '../shared/open-lake.js';
import { counted, output } from '../shared/output.js';
import { skipUnpublished, snapshotsOf } from '../shared/published-resources.js';

interface DbtOptions extends GlobalOptions {
  readonly adapter?: DbtAdapterName;
  readonly dir: string;
}

/** `worktrack dbt`: writes a dbt project for the lake, or updates the generated files of one. */
export async function runDbt(options: DbtOptions): Promise<ExitCode> {
  const connection = readConnection(options);
  const owner = await ownerOfProject(connection, options);
  const { name, lake, resources } = connection;
  if (owner.adapter === 'athena' && !lake.url.startsWith('s3://'))
    throw new UsageError(`Athena reads only from S3, and the lake is ${lake.url}. Use --adapter duckdb.`);
  const clash = clashingResources(resources.map((resource) => resource.name));
  if (clash !== null) throw new UsageError(`the models of ${clash.join(' and ')} would have the same names`);
  const snapshots = await withLake(connection, (open) => snapshotsOf(open, resources, undefined));
  skipUnpublished(snapshots);
  const published = snapshots.found.map(([settings, snapshot]) => ({
    lake,
    ...publishedResource(settings, snapshot),
  }));
  const readable = owner.adapter === 'athena' ? published.filter(isReadableByAthena) : published;
  const files = projectFiles({ adapter: owner.adapter, connection: name, lake, resources: readable });
  report(options.dir, owner, await writeProject(options.dir, owner, files));
  return EXIT.done;
}

type Owner = ProjectOwner & { readonly adapter: DbtAdapterName };

/** @throws UsageError if the folder has a project of another connection or adapter */
async function ownerOfProject({ name }: ConnectionSettings, { adapter, dir }: DbtOptions): Promise<Owner> {
  const existing = await readOwner(dir);
  const known = DBT_ADAPTERS.find((one) => one === existing?.adapter);
  const owner = { connection: name, adapter: adapter ?? known ?? 'duckdb' };
  if (existing === null || (existing.connection === name && existing.adapter === owner.adapter)) return owner;
  throw new UsageError(
    `${dir} has the dbt project of connection ${existing.connection} for ${existing.adapter}. Choose another folder with --dir.`,
  );
}

function isReadableByAthena(resource: PublishedResource): boolean {
  if (!unreadableViews({ dialect: 'athena', manifest: resource.manifest }).includes('changes')) return true;
  output.note(
    `Skipped: ${resource.resource}: its change logs have ${resource.manifest.changesLineBreaks} line breaks inside cells, ` +
      'which Athena cannot read. A new lake URL with `csv: { lineBreaks: escape }` starts without them.',
  );
  return false;
}

/** @throws UsageError if the engine cannot read the lake, or none of its resources */
function projectFiles(input: Parameters<typeof dbtProject>[0]): ProjectFile[] {
  if (input.resources.length === 0)
    throw new UsageError('no resource can be read, so no project was written.');
  return orUsageError(() => dbtProject(input));
}

const KEPT: Partial<Record<WrittenFile['outcome'], string>> = {
  keep: 'you changed it',
  outdated: 'you changed it, and the generated version is a newer one',
};

function report(dir: string, { adapter }: ProjectOwner, files: readonly WrittenFile[]): void {
  const parts = Object.entries(PAST).flatMap(([outcome, past]) => {
    const number = files.filter((file) => file.outcome === outcome).length;
    return number === 0 ? [] : [`${counted(number, 'file')} ${past}`];
  });
  output.out(`${dir}: dbt project for ${adapter}. ${parts.join(', ')}`);
  const kept = files.filter(({ outcome }) => KEPT[outcome] !== undefined);
  for (const { path, outcome } of kept) output.note(`Kept ${path}: ${KEPT[outcome]}`);
  if (kept.length > 0)
    output.note('To get the generated version of a kept file, move it away and run this command again.');
  const profiles = adapter === 'athena' ? ' && dbt run-operation worktrack_create_sources' : '';
  output.note(`Next: cd ${dir}${profiles} && dbt build && dbt source freshness`);
}

const PAST = { create: 'created', update: 'updated', unchanged: 'unchanged', remove: 'removed' };

/** A file of the project, and what was done with it. `remove`: a generated file that is not needed any more. */
interface WrittenFile {
  readonly path: string;
  readonly outcome: FilePlan | 'remove';
}

/** Whose project a folder has; `null` for none. */
export async function readOwner(dir: string): Promise<ProjectOwner | null> {
  const text = await read(join(dir, 'dbt_project.yml'));
  return text === null ? null : ownerOf(text);
}

/**
 * Writes the files of a project. A file that the user changed, added or copied is kept. A generated file of an earlier
 * run that is neither changed nor needed is removed.
 *
 * @throws ConfigurationError if the folder cannot be written
 */
export async function writeProject(
  dir: string,
  owner: ProjectOwner,
  files: readonly ProjectFile[],
): Promise<WrittenFile[]> {
  const written: WrittenFile[] = [];
  for (const file of files) {
    const at = join(dir, file.path);
    const outcome = planFile(file, owner, await read(at));
    written.push({ path: file.path, outcome });
    if (outcome === 'create' || outcome === 'update') await writeProjectFile(at, renderFile(file, owner));
  }
  const current = new Set(files.map(({ path }) => path));
  for (const folder of GENERATED_FOLDERS) {
    for (const path of await list(dir, folder)) {
      if (current.has(path)) continue;
      const text = await read(join(dir, path));
      if (text === null || !isGenerated(path, text)) continue;
      await rm(join(dir, path)).catch((cause) => fail(join(dir, path), cause));
      written.push({ path, outcome: 'remove' });
    }
  }
  return written;
}

async function list(dir: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(dir, folder), { withFileTypes: true, recursive: true }).catch(
    (cause: NodeJS.ErrnoException) => (cause.code === 'ENOENT' ? [] : fail(join(dir, folder), cause)),
  );
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(dir, '/').length).replaceAll('\\', '/'));
}

async function read(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) =>
    cause.code === 'ENOENT' ? null : fail(path, cause),
  );
}

async function writeProjectFile(path: string, text: string): Promise<void> {
  const created = mkdir(dirname(path), { recursive: true });
  await created.then(() => writeFile(path, text)).catch((cause) => fail(path, cause));
}

function fail(path: string, cause: NodeJS.ErrnoException): never {
  throw new ConfigurationError(`${path} cannot be read or written (${systemCause(cause)})`, {
    remedy: 'Choose a writable folder with --dir.',
    cause,
  });
}
