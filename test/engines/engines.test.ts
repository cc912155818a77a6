import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseSettings } from '../../src/config/index.js';
import type { RunId } from '../../src/core/brands.js';
import { ddlStatements } from '../../src/lake/ddl/ddl.js';
import { chName, hiveName, sqlName, viewName } from '../../src/lake/ddl/quote.js';
import { readPublished } from '../../src/lake/published/read-published.js';
import { META_COLUMNS } from '../../src/lake/rows/schema.js';
import { openStore } from '../../src/lake/store/index.js';
import { startRollback } from '../../src/temporal/client/start.js';
import { type ReadTree, readSnapshot } from '../support/snapshot.js';
import { type Stack, startStack } from '../support/stack.js';
import { ENGINES, readViews, type ViewToRead } from './engines.js';

const RESOURCES = ['tasks', 'projects', 'escaped', 'masked'];
const resources = (settings: { compression: string; lineBreaks: string; mask: string }): string => `
      - tasks
      - { name: projects, csv: { compression: ${settings.compression} } }
      - { name: escaped, path: tasks, csv: { lineBreaks: ${settings.lineBreaks} } }
      - { name: masked, path: tasks, columns: { mask: { ${settings.mask} } } }`;

/** The cells of a snapshot, as the printed statements must show them. */
interface Expected {
  readonly resource: string;
  readonly tree: ReadTree;
}

describe('The printed statements, after new columns and types, deletes, changed settings and a rollback', () => {
  let stack: Stack;
  const expected: Expected[] = [];

  beforeAll(async () => {
    const before = { compression: 'gzip', lineBreaks: 'keep', mask: '' };
    stack = await startStack({
      simulator: { seed: 77, awkwardEvery: 4, counts: { tasks: 400, projects: 120 } },
      resources: resources(before),
      yaml: '    deletes: mark\n',
    });
    const { admin } = stack.simulator;
    const publish = async (input = {}) => {
      const result = await stack.export(input);
      expect(result.outcome, JSON.stringify(result.runs.map(({ error }) => error))).toBe('published');
      return result;
    };
    const worker = await stack.startWorker();
    await publish();
    admin.addField('tasks', 'dueAt', '"2026-11-21T02:00:00.123+01:00"', { count: 9, pick: 'spread' });
    admin.addField('tasks', 'amount', '12.50', { count: 9, pick: 'spread' });
    admin.addField('tasks', 'ledger', '123456789012345678901234567890', { count: 4, pick: 'spread' });
    admin.addField('tasks', 'day', '"2026-02-28"', { count: 4, pick: 'newest' });
    const second = await publish();
    const ids = admin.records('tasks', 'listed').map((text) => (JSON.parse(text) as { id: string }).id);
    admin.remove('tasks', ids.slice(3, 8));
    admin.addField('tasks', 'ledger', '"now also text"', { count: 1, pick: 'newest' });
    await publish({ reconcile: true });
    await worker.stop();
    const after = { compression: 'none', lineBreaks: 'escape', mask: 'title: hash' };
    const { source } = stack.settings;
    const changed = (await import('node:fs')).readFileSync(stack.configFile, 'utf8');
    await stack.startWorker(parseSettings(changed.replace(resources(before), resources(after)), source));
    admin.touch('tasks', { count: 5, pick: 'spread' });
    await publish();
    // A rollback of one resource, and the run that follows it.
    const { taskQueue, temporal, connection } = stack;
    const to = second.runs.find(({ resource }) => resource === 'tasks')!.runId as RunId;
    const id = await startRollback(temporal, { connection, resource: 'tasks', to }, { taskQueue });
    await temporal.client.workflow.getHandle(id).result();
    admin.touch('tasks', { count: 3, pick: 'spread' });
    await publish();
    for (const resource of RESOURCES)
      expected.push({ resource, tree: await readSnapshot(stack.store, resource) });
  });
  afterAll(() => stack?.stop());

  it.each(ENGINES)(
    'show every cell of every snapshot in $name $version',
    { timeout: 600_000 },
    async (engine) => {
      const lake = { url: pathToFileURL(stack.lakeFolder).href };
      const store = openStore(lake);
      const statements: string[] = [];
      const views: (ViewToRead & Expected)[] = [];
      const quote = { duckdb: sqlName, athena: sqlName, trino: sqlName, spark: hiveName, clickhouse: chName };
      for (const { resource, tree } of expected) {
        const { pointer, manifest } = await readPublished(store, resource);
        const input = {
          dialect: engine.dialect,
          lake,
          resource,
          pointer,
          manifest,
          views: ['current', 'changes', 'newest'],
        } as const;
        const defined = ddlStatements({ ...input, masked: resource === 'masked' ? ['title'] : [] });
        statements.push(...defined.filter(({ kind }) => kind === 'define').map(({ sql }) => sql));
        const aliases = aliasesOf(
          defined.flatMap(({ about }) => about),
          [...META_COLUMNS, ...manifest.columns.map(({ name }) => name)],
        );
        const columns = aliases.map(quote[engine.dialect]);
        for (const suffix of ['_text', '', '_newest_text', '_newest'])
          views.push({ name: `${viewName(resource)}${suffix}`, columns, resource, tree });
      }
      store.close();
      const read = await readViews(engine, statements, views);
      expect(read.map(({ view }) => view)).toEqual(views.map(({ name }) => name));
      let compared = 0;
      const different: string[] = [];
      for (const [at, { view, rows }] of read.entries()) {
        const { tree } = views[at]!;
        const key = tree.header.indexOf('id');
        const found = new Map(rows.map((row) => [row[key], row]));
        if (rows.length !== tree.rows.length)
          different.push(`${view}: ${rows.length} rows of ${tree.rows.length}`);
        for (const wanted of tree.rows) {
          const row = found.get(wanted.id!) ?? [];
          for (const [column, name] of tree.header.entries()) {
            compared++;
            if (!isSame(wanted[name] ?? null, row[column] ?? null))
              different.push(
                `${view} ${wanted.id} ${name}: ${JSON.stringify([wanted[name], row[column]]).slice(0, 200)}`,
              );
          }
        }
      }
      console.log(
        `${engine.name} ${engine.version}: ${compared} cells compared, ${different.length} different`,
      );
      expect(different.slice(0, 20)).toEqual([]);
    },
  );
});

/** The names of the columns in the views: those of the header, except where a comment names an alias. */
function aliasesOf(comments: readonly string[], names: readonly string[]): string[] {
  const aliases = new Map(
    comments.flatMap((comment) => {
      const found = /^Column (".*") has the name (.*) here\.$/s.exec(comment);
      return found === null ? [] : [[JSON.parse(found[1]!) as string, found[2]!] as const];
    }),
  );
  return names.map((name) => aliases.get(name) ?? name);
}

/** Whether the text of a typed value is that of the service: exactly, or the same number, time or boolean. */
function isSame(wanted: string | null, found: string | null): boolean {
  if (wanted === found) return true;
  if (wanted === null || found === null) return false;
  return canonical(wanted) === canonical(found);
}

function canonical(text: string): string {
  const number = /^(-?)0*(\d+?)(?:\.(\d*?)0*)?$/.exec(text);
  if (number !== null) {
    const [, sign, whole, fraction = ''] = number;
    return `${/[1-9]/.test(whole! + fraction) ? sign : ''}${whole}.${fraction}`;
  }
  const time = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)?$/.exec(text);
  if (time === null) return text;
  const [, date, clock, fraction = '', zone = 'Z'] = time;
  const seconds = new Date(`${date}T${clock}${zone}`).toISOString().slice(0, 19);
  return `time ${seconds}.${fraction.replace(/0+$/, '')}`;
}
