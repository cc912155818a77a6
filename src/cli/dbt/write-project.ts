import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigurationError } from '../../core/configuration-error.js';
import { systemCause } from '../../core/system-error.js';
import {
  type FilePlan,
  isGenerated,
  ownerOf,
  type ProjectFile,
  type ProjectOwner,
  planFile,
  renderFile,
} from '../../lake/dbt/file.js';
import { GENERATED_FOLDERS } from '../../lake/dbt/project.js';

/** A file of the project, and what was done with it. `remove`: a generated file that is not needed any more. */
export interface WrittenFile {
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
    if (outcome === 'create' || outcome === 'update') await write(at, renderFile(file, owner));
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

async function write(path: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  } catch (cause) {
    fail(path, cause as NodeJS.ErrnoException);
  }
}

function fail(path: string, cause: NodeJS.ErrnoException): never {
  throw new ConfigurationError(`${path} cannot be read or written (${systemCause(cause)})`, {
    remedy: 'Choose a writable folder with --dir.',
    cause,
  });
}
