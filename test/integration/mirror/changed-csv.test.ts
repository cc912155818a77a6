import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import { readPublished } from '../../../src/lake/published/read-published.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { readNewestView } from '../../support/newest-view.js';
import { type Stack, startStack } from '../../support/stack.js';

const resourceWith = (settings: string): string => `[{ name: tasks, ${settings} }]`;
const BEFORE = resourceWith('csv: { compression: gzip }');

describe('Changed settings of a resource that is in the lake', { shuffle: false }, () => {
  let stack: Stack;
  let worker: Awaited<ReturnType<Stack['startWorker']>>;

  beforeAll(async () => {
    stack = await startStack({
      simulator: { seed: 5, awkwardEvery: 3, counts: { tasks: 150 } },
      resources: BEFORE,
    });
    worker = await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
  });
  afterAll(() => stack?.stop());

  async function exportWith(settings: string) {
    await worker.stop();
    const yaml = (await readFile(stack.configFile, 'utf8')).replace(BEFORE, resourceWith(settings));
    worker = await stack.startWorker(parseSettings(yaml, stack.configFile));
    return stack.export();
  }

  it('are an error if the change logs would have two delimiters', async () => {
    const result = await exportWith('csv: { delimiter: ";" }');
    expect(result.runs[0]).toMatchObject({ outcome: 'failed' });
    expect(JSON.stringify(result.runs[0]!.error).replaceAll('\\', '')).toMatch(
      /tasks: `csv.delimiter` is ";", but the change logs up to run .* have ","/,
    );
  });

  it.each([
    ['line breaks and compression', 'csv: { compression: none, lineBreaks: escape }', true],
    ['line breaks, back again', 'csv: { compression: none }', true],
    ['a mask', 'columns: { mask: { title: redact } }', true],
    ['nothing', 'columns: { mask: { title: redact } }', false],
  ])('keep the newest rows of the change log equal to the snapshot: %s', async (_, settings, isRestated) => {
    stack.simulator.admin.touch('tasks', { count: 3, pick: 'spread' });
    const result = await exportWith(settings);
    expect(result.outcome, JSON.stringify(result.runs[0]!.error)).toBe('published');
    const { manifest } = await readPublished(stack.store, 'tasks');
    expect((manifest.counts.restated ?? 0) > 0).toBe(isRestated);
    expect((await verifySnapshot(stack.store, 'tasks')).problems).toEqual([]);
    const { newest, snapshot } = await readNewestView(stack, 'tasks');
    expect(newest).toEqual(snapshot);
  });
});
