import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readOwner, writeProject } from '../../../src/cli/sql/dbt-command.js';

const OWNER = { connection: 'acme', adapter: 'duckdb' };
const TASKS = 'models/worktrack/staging/stg_acme__tasks.sql';
const PROJECTS = 'models/worktrack/staging/stg_acme__projects.sql';
const project = (...paths: string[]) =>
  ['dbt_project.yml', ...paths].map((path) => ({ path, body: `# ${path}\n` }));

describe('the folder of a dbt project', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'worktrack-dbt-'));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  it('names its connection and adapter', async () => {
    expect(await readOwner(dir)).toBeNull();
    await writeProject(dir, OWNER, project());
    expect(await readOwner(dir)).toEqual(OWNER);
  });

  it('loses generated files that are no longer needed, and keeps changed, copied and added ones', async () => {
    await writeProject(dir, OWNER, project(TASKS, PROJECTS));
    const copy = TASKS.replace('tasks', 'copy');
    const added = TASKS.replace('tasks', 'added');
    const text = await readFile(join(dir, TASKS), 'utf8');
    await writeFile(join(dir, copy), text);
    await writeFile(join(dir, added), 'SELECT 1\n');
    await writeFile(join(dir, PROJECTS), `${text}-- changed\n`);
    expect(await writeProject(dir, OWNER, project())).toEqual([
      { path: 'dbt_project.yml', outcome: 'unchanged' },
      { path: TASKS, outcome: 'remove' },
    ]);
    expect(await readFile(join(dir, copy), 'utf8')).toBe(text);
    expect(await readFile(join(dir, added), 'utf8')).toBe('SELECT 1\n');
    expect(await readFile(join(dir, PROJECTS), 'utf8')).toBe(`${text}-- changed\n`);
  });

  it('is an error that says what to do if it cannot be written', async () => {
    await writeFile(join(dir, 'file'), '');
    await expect(writeProject(join(dir, 'file'), OWNER, project())).rejects.toMatchObject({
      code: 'CONFIGURATION',
      remedy: 'Choose a writable folder with --dir.',
    });
  });
});
