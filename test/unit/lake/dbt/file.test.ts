import { describe, expect, it } from 'vitest';
import { isGenerated, ownerOf, planFile, renderFile } from '../../../../src/sql/dbt/file.js';

const OWNER = { connection: 'acme', adapter: 'duckdb' };
const FILE = { path: 'models/worktrack/staging/stg_acme__tasks.sql', body: 'SELECT 1\n' };
const NEWER = { ...FILE, body: 'SELECT 2\n' };

describe('a generated file', () => {
  const written = renderFile(FILE, OWNER);
  const changed = `${written}-- mine\n`;

  it('names its project in comments of its format', () => {
    expect(written.split('\n')[0]).toBe('{# Written by: worktrack dbt --connection acme --adapter duckdb #}');
    expect(ownerOf(written)).toEqual(OWNER);
    const yaml = renderFile({ path: 'dbt_project.yml', body: 'name: x\n' }, OWNER);
    expect(yaml.split('\n').map((line) => line[0])).toEqual(['#', '#', 'n', undefined]);
    expect(ownerOf(yaml)).toEqual(OWNER);
    expect(ownerOf('name: x\n')).toBeNull();
  });

  it('is created, left alone or updated', () => {
    expect(planFile(FILE, OWNER, null)).toBe('create');
    expect(planFile(FILE, OWNER, written)).toBe('unchanged');
    expect(planFile(NEWER, OWNER, written)).toBe('update');
  });

  it('is kept once the user has changed it, and says whether the generated version is newer', () => {
    expect(planFile(FILE, OWNER, changed)).toBe('keep');
    expect(planFile(NEWER, OWNER, changed)).toBe('outdated');
    expect(planFile(FILE, OWNER, 'SELECT 3\n')).toBe('outdated');
  });

  it('counts as unchanged with the line ends of another system', () => {
    const windows = written.replaceAll('\n', '\r\n');
    expect(planFile(FILE, OWNER, windows)).toBe('unchanged');
    expect(planFile(NEWER, OWNER, windows)).toBe('update');
  });

  it('belongs to the user under another name', () => {
    expect(isGenerated(FILE.path, written)).toBe(true);
    expect(isGenerated('models/worktrack/staging/copy.sql', written)).toBe(false);
    expect(isGenerated(FILE.path, changed)).toBe(false);
  });
});
