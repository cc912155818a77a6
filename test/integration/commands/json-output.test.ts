import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { DEFAULT_TASK_QUEUE } from '../../../src/core/contract/index.js';
import { startTemporalDevServer, type TemporalDevServer } from '../../../src/servers/index.js';
import { codeBlocks, codeSpans, leafCommands, pageAt } from '../../support/docs.js';
import { createDocsWorld, type DocsWorld } from '../../support/docs-world.js';
import { idOf } from '../../support/mirrored.js';
import { freePort } from '../../support/ports.js';
import { type Stack, startStack, until } from '../../support/stack.js';
import { endLocks } from '../../support/write-back.js';

const PAGE = pageAt('docs/reference/json-output.md');
const NAMED = new Set([PAGE, pageAt('docs/reference/lake.md')].flatMap(({ text }) => text.match(/\w+/g)!));

/** The commands whose output the page shows, in an order that gives each what it needs. */
const SAMPLES: readonly (readonly [heading: string, command: string, exitCode?: number])[] = [
  ['doctor', 'worktrack doctor --json'],
  ['schedule apply', 'worktrack schedule apply --json'],
  ['schedule describe', 'worktrack schedule describe --json'],
  ['schedule pause, resume, trigger and delete', 'worktrack schedule pause --note audit --json'],
  ['export', 'worktrack export tasks --json'],
  ['export --no-wait', 'worktrack export tasks --no-wait --json'],
  ['cancel', 'worktrack cancel ENDED --json'],
  ['export', 'worktrack backfill tasks --json'],
  ['export --no-wait', 'worktrack backfill tasks --no-wait --json'],
  ['several connections', 'worktrack export tasks --all --json'],
  ['status', 'worktrack status tasks --json'],
  ['history', 'worktrack history tasks --limit 1 --json'],
  ['verify', 'worktrack verify tasks --json'],
  ['audit', 'worktrack audit tasks --json'],
  ['query', "worktrack query 'SELECT id, estimateSeconds FROM tasks LIMIT 1' --json"],
  ['cat', 'worktrack cat projects --limit 1 --json'],
  ['write-back --dry-run', 'worktrack write-back time-entries hours.csv --dry-run --json'],
  ['write-back --dry-run with errors', 'worktrack write-back time-entries wrong.csv --dry-run --json', 2],
  ['write-back', 'worktrack write-back time-entries hours.csv --json'],
  ['write-back confirm', 'worktrack write-back confirm BATCH --json'],
  ['write-back undo', 'worktrack write-back undo BATCH --yes --json'],
  ['write-back receipts', 'worktrack write-back receipts BATCH --json'],
  ['rollback', 'worktrack rollback --resource tasks --to RUN --json'],
  ['purge --dry-run', 'worktrack purge --resource tasks --key KEY --dry-run --json'],
  ['purge', 'worktrack purge --resource tasks --key KEY --yes --json'],
  ['unpin', 'worktrack unpin --json'],
  ['replay', 'worktrack replay --from-server --workflow-id ENDED --json'],
  ['notify', 'worktrack notify --test --json'],
];

/** Commands with `--json` whose output is the same as that of another command, or is tested where two builds run (`lost-build.test.ts`). */
const LIKE_OTHERS = [
  ...['schedule pause', 'schedule resume', 'schedule trigger', 'schedule delete'],
  'write-back resend',
  'upgrade',
];

type Printed = Readonly<Record<string, unknown>>;

describe('the JSON output of', { shuffle: false }, () => {
  let temporal: TemporalDevServer;
  let target: Server;
  let stack: Stack;
  let world: DocsWorld;
  const names: Record<string, string> = {};

  beforeAll(async () => {
    temporal = await startTemporalDevServer({ executable: inject('servers').temporalCli, headless: true });
    target = createServer((_, response) => response.end());
    const port = await freePort();
    await new Promise<void>((resolve) => target.listen(port, '127.0.0.1', resolve));
    stack = await startStack({
      s3: true,
      connection: 'acme',
      temporalAddress: temporal.address,
      resources: '[projects, tasks, time-entries]',
      simulator: { counts: { projects: 3, tasks: 40, 'time-entries': 60 }, awkward: false },
      yaml: `    notify: { url: "http://127.0.0.1:${port}/" }\n    schedule: { cron: "0 2 * * *" }`,
    });
    world = await createDocsWorld(stack);
    const [project] = stack.simulator.admin.records('projects');
    const rows = ['projectId,startedAt,durationSeconds', `${idOf(project!)},2026-11-20T08:00:00Z,3600`];
    await writeFile(join(world.folder, 'hours.csv'), `${rows.join('\n')}\n`);
    await writeFile(join(world.folder, 'wrong.csv'), `${rows.join('\n').replace(',3600', ',1:00')}\n`);
    names.KEY = idOf(stack.simulator.admin.records('tasks')[0]!);
    await stack.startWorker(undefined, { taskQueue: DEFAULT_TASK_QUEUE });
    await print('worktrack export --json');
  });
  afterAll(async () => {
    if (stack !== undefined) await endLocks(stack);
    await stack?.stop();
    await new Promise((resolve) => target?.close(resolve));
    await temporal?.stop();
  });

  async function print(command: string, exitCode = 0): Promise<Printed> {
    const typed = command.replace(/\b[A-Z]{3,}\b/g, (name) => names[name] ?? name);
    const { code, stdout, printed } = await world.typed(typed, { WORKTRACK_CONFIG: stack.configFile });
    expect(code, `${typed}\n${printed}`).toBe(exitCode);
    return JSON.parse(stdout) as Printed;
  }

  it.each(SAMPLES.map(([heading, command, exitCode = 0]) => [heading, command, exitCode] as const))(
    '%s, printed by `%s`, has the shape that the reference shows',
    async (heading, command, exitCode) => {
      const found = await print(command, exitCode);
      if (typeof found.workflowId === 'string' && heading === 'export --no-wait') {
        names.ENDED = found.workflowId;
        const ended = stack.temporal.client.workflow.getHandle(names.ENDED);
        await until(async () => (await ended.describe()).status.name === 'COMPLETED', 'the export has ended');
      }
      if (typeof found.batchId === 'string') names.BATCH = found.batchId;
      if (heading === 'export') names.RUN ??= (found.runs as { runId: string }[])[0]!.runId;
      const shown = codeBlocks([PAGE]).find(
        (block) => block.language === 'json' && block.heading.replaceAll('`', '') === heading,
      );
      expect(shown, `the sample under the heading ${heading}`).toBeDefined();
      const sample: unknown = JSON.parse(shown!.text);
      expect(shapeOf(withElided(found, sample))).toEqual(shapeOf(sample));
      const columns = Array.isArray(found.columns) ? (found.columns as unknown[]) : [];
      const unnamed = elidedNames(found, sample).filter(
        (name) => !NAMED.has(name) && !columns.includes(name),
      );
      expect(unnamed, 'names that neither page of the reference shows').toEqual([]);
    },
  );

  it('lists, in the reference of the lake, every field of a pointer and a manifest', async () => {
    const { text } = pageAt('docs/reference/lake.md');
    const named = new Set(codeSpans(text).flatMap((span) => span.match(/\w+/g) ?? []));
    const read = async (key: string) =>
      JSON.parse((await stack.store.read(key as ObjectKey)).toString()) as Record<string, unknown>;
    const pointer = await read('tasks/latest.json');
    const manifest = await read(pointer.snapshot as string);
    const fields = manifest.worktrack as Record<string, unknown>;
    const counts = Object.keys(fields.counts as object);
    expect(Object.keys(fields).length).toBeGreaterThan(20);
    const all = [...Object.keys(pointer), ...Object.keys(fields), ...counts];
    expect(all.filter((name) => !named.has(name))).toEqual([]);
  });

  it('every command with --json has a sample', () => {
    const withJson = leafCommands()
      .filter(({ command }) => command.options.some(({ long }) => long === '--json'))
      .map(({ name }) => name);
    const shown = SAMPLES.map(([, command]) => command.replace(/^worktrack /, ''));
    const missing = withJson.filter((name) => !shown.some((one) => one.startsWith(`${name} `)));
    expect(missing.filter((name) => !LIKE_OTHERS.includes(name))).toEqual([]);
  });
});

/** The value with `…` where the sample has it. */
function withElided(value: unknown, sample: unknown): unknown {
  if (sample === '…') return sample;
  if (Array.isArray(value) && Array.isArray(sample)) return value.map((one) => withElided(one, sample[0]));
  if (typeof value !== 'object' || value === null || typeof sample !== 'object' || sample === null)
    return value;
  const shown = sample as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withElided(one, shown[key])]));
}

/** The names in the parts of a value that the sample shows as `…`. */
function elidedNames(value: unknown, sample: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const isElided = sample === '…';
  if (Array.isArray(value)) {
    const shown = isElided ? sample : (sample as readonly unknown[])[0];
    return value.flatMap((one) => elidedNames(one, shown));
  }
  return Object.entries(value).flatMap(([key, one]) =>
    isElided
      ? [key, ...elidedNames(one, sample)]
      : elidedNames(one, (sample as Readonly<Record<string, unknown>>)[key]),
  );
}

/** Names, nesting and kinds of values. Elements of a list count once per shape; fixed words count as what they are. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    const shapes = new Map(value.map((one) => [JSON.stringify(shapeOf(one)), shapeOf(one)]));
    return [...shapes.keys()].sort().map((key) => shapes.get(key));
  }
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shapeOf(one)]));
  return value === null ? null : typeof value;
}
