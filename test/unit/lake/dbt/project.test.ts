import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { ObjectKey, RunId, UtcSeconds } from '../../../../src/core/brands.js';
import type { Manifest } from '../../../../src/lake/documents/manifest.js';
import type { Column } from '../../../../src/lake/rows/data-columns.js';
import { type DbtProjectInput, dbtProject } from '../../../../src/sql/dbt/project.js';
import type { PublishedResource } from '../../../../src/sql/ddl/published-sources.js';
import { typeBits } from '../../../support/column-types.js';
import { WRITER } from '../../../support/writer.js';
import { CSV } from '../published.js';

const LAKE = { url: 's3://lake/acme', region: 'eu-central-1' };
const RUN = '20261121T020000Z-1a2b3c4d' as RunId;
const text = (name: string): Column => ({
  name,
  types: typeBits(['string']),
  values: { formats: 1, whole: 0, fraction: 0 },
});

function published(
  resource: string,
  names: readonly string[],
  more: Partial<Manifest> = {},
): PublishedResource {
  const snapshot = `${resource}/snapshots/dt=2026-11-21/run=${RUN}/_datapackage.json` as ObjectKey;
  const checkpoint = { updatedSince: '2026-11-21T01:55:00Z' as UtcSeconds };
  const manifest = {
    columns: names.map(text),
    key: ['id'],
    csv: CSV,
    parts: [],
    changesLineBreaks: 0,
    ...more,
  };
  return {
    resource,
    lake: LAKE,
    pointer: {
      resource,
      runId: RUN,
      snapshot,
      changes: null,
      publishedAt: '',
      checkpoint,
      rows: 0,
      connection: '',
      baseUrl: '',
      writer: WRITER,
      manifests: { snapshot: '', changes: null },
      rolledBack: null,
    },
    manifest: manifest as unknown as Manifest,
  };
}

function filesOf(input: Partial<DbtProjectInput>): Map<string, string> {
  const files = dbtProject({ adapter: 'duckdb', connection: 'acme-eu', lake: LAKE, resources: [], ...input });
  return new Map(files.map(({ path, body }) => [path, body]));
}

describe('a dbt project', () => {
  const projects = published('projects', ['id']);

  it.each(['duckdb', 'athena'] as const)(
    'a dbt project for %s names no run, and escapes Jinja in names',
    (adapter) => {
      const tasks = published('tasks', ['id', '{{ name }}', '{% raw %}']);
      const files = filesOf({ adapter, resources: [tasks] });
      const bodies = [...files.values()].join('\n');
      expect(bodies).not.toContain(RUN);
      expect(bodies).not.toContain('{{ name');
      expect(bodies).not.toContain('{% raw');
      expect(files.get('models/worktrack/staging/stg_acme_eu__tasks.sql')).toContain(
        "FROM {{ ref('acme_eu__tasks_history') }}",
      );
    },
  );

  it('gives a field that has the name of a column of the history another name', () => {
    const files = filesOf({ resources: [published('tasks', ['id', 'valid_from', 'Is_Current'])] });
    const model = files.get('models/worktrack/history/acme_eu__tasks_history.sql')!;
    expect(model).toContain('-- Column "valid_from" has the name valid_from_2 here.');
    expect(model).toContain('"valid_from" AS "valid_from_2"');
    expect(model).toContain('"Is_Current" AS "Is_Current_2"');
  });

  it('tests the key, and the references to records of other resources unless they are masked', () => {
    const entries = published('entries', ['id', 'source', 'projectId'], { key: ['id', 'source'] });
    const tasks = { ...published('tasks', ['id', 'projectId']), masked: ['projectId'] };
    const files = filesOf({ resources: [projects, entries, tasks] });
    const modelsIn = (name: string) =>
      (parse(files.get(`models/worktrack/${name}.yml`)!) as { models: Record<string, unknown>[] }).models;
    expect(modelsIn('entries')[0]).toMatchObject({
      data_tests: [{ worktrack_unique_key: { arguments: { columns: ['"id"', '"source"'] } } }],
      columns: [
        { name: 'id', data_tests: ['not_null'] },
        { name: 'source', data_tests: ['not_null'] },
        {
          name: 'projectId',
          data_tests: [
            { relationships: { arguments: { to: "ref('stg_acme_eu__projects')", field: '"id"' } } },
          ],
        },
      ],
    });
    expect(modelsIn('tasks')[0]).toMatchObject({
      columns: [{ name: 'id', data_tests: ['not_null', 'unique'] }],
    });
  });

  it('contains no credentials, and finds those of AWS', () => {
    const profile = filesOf({ resources: [projects] }).get('profiles.yml')!;
    expect(parse(profile)).toEqual({
      worktrack_acme_eu: {
        target: 'dev',
        outputs: {
          dev: {
            type: 'duckdb',
            path: 'worktrack_acme_eu.duckdb',
            threads: 4,
            extensions: ['httpfs', 'aws'],
            secrets: [{ type: 's3', provider: 'credential_chain', region: 'eu-central-1', scope: LAKE.url }],
          },
        },
      },
    });
  });

  it('refuses what Athena cannot read', () => {
    const athena = (resource: PublishedResource) => () =>
      filesOf({ adapter: 'athena', resources: [resource] });
    expect(athena(published('tasks', ['id'], { changesLineBreaks: 3 }))).toThrow(
      /3 line breaks inside cells/,
    );
    expect(athena({ ...projects, lake: { url: 'file:///srv/lake' } })).toThrow(/Athena reads only from S3/);
  });
});
