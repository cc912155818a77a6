import { describe, expect, it } from 'vitest';
import { type RelatedResource, relationsOf } from '../../../../src/sql/dbt/project.js';

const TEXT = { type: 'text' } as const;
const NUMBER = { type: 'int64' } as const;
const resource = (name: string, columns: readonly string[], key = ['id']): RelatedResource => ({
  resource: name,
  key,
  columns: columns.map((column) => ({ name: column, kind: TEXT })),
});

describe('a relation', () => {
  const projects = resource('projects', ['id', 'name']);
  const entries = resource('time-entries', ['id']);

  it('is found by the name of a field: the resource in the singular, and id', () => {
    const tasks = resource('tasks', ['id', 'projectId', 'time_entry_id', 'ownerId', 'paid']);
    expect(relationsOf(tasks, [projects, entries, tasks])).toEqual([
      { column: 'projectId', to: 'projects', field: 'id' },
      { column: 'time_entry_id', to: 'time-entries', field: 'id' },
    ]);
  });

  it('needs a resource whose key is id, with values of the same type', () => {
    const tasks = resource('tasks', ['projectId']);
    expect(relationsOf(tasks, [resource('projects', ['id', 'region'], ['region', 'id'])])).toEqual([]);
    expect(relationsOf(tasks, [{ ...projects, columns: [{ name: 'id', kind: NUMBER }] }])).toEqual([]);
    expect(relationsOf(tasks, [resource('projects', [])])).toEqual([]);
  });
});
