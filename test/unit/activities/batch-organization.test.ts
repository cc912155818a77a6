import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import type { SendRowsInput, WriteBackInput } from '../../../src/core/contract/write-back.js';
import { readBatch } from '../../../src/write-back/batch-file.js';
import { stageWriteBack } from '../../../src/write-back/stage-input.js';
import { ActivityMirror } from '../../support/in-process-mirror.js';
import { RowService } from '../../support/row-service.js';

/** The organizations of the keys; any other key is not known. */
const ORGANIZATIONS: Readonly<Record<string, string>> = { a1: 'A', a2: 'A', a3: 'A', b1: 'B' };
const CLOSED = { status: 403, body: '{"message":"The project is closed."}' };

describe('the API keys of a batch', () => {
  let folder: string;
  let service: RowService;
  const workers: ActivityMirror[] = [];
  /** Each attempt has a number of its own, and so its own logs. */
  let attempts = 0;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-keys-'));
    service = await RowService.start();
    service.organizationOf = (key) => ORGANIZATIONS[key] ?? null;
    service.shows = 'records';
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    for (const worker of workers.splice(0)) await worker.close();
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const keyFile = (): string => join(folder, 'key');
  const setKey = (key: string, worker = 'one'): void => {
    vi.stubEnv(`KEY_OF_${worker}`, key);
  };

  /** A worker with its own key, and the lake and the service of all. @param key default: in a variable, which `setKey` sets */
  function startWorker(name = 'one', key = `{ env: KEY_OF_${name} }`): ActivityMirror {
    const text =
      `connections: { acme: { baseUrl: "${service.url}", apiKey: ${key}, ` +
      `lake: { url: "${pathToFileURL(join(folder, 'lake')).href}" }, resources: [projects], ` +
      'http: { concurrency: 1 } } }';
    const worker = new ActivityMirror(parseSettings(text, 'test'), 'projects');
    workers.push(worker);
    return worker;
  }

  async function stageRows(worker: ActivityMirror, rows: number): Promise<WriteBackInput> {
    const file = join(folder, 'rows.csv');
    const lines = Array.from({ length: rows }, (_, n) => `no. ${n},2026-11-20T08:00:00Z\n`);
    await writeFile(file, ['description,startedAt\n', ...lines].join(''));
    return stageWriteBack(worker.settings, { resource: 'time-entries', file });
  }

  /** Sends the rows of a batch in a run of its own. Returns what ended it, or how many rows have an outcome. */
  async function send(
    worker: ActivityMirror,
    input: WriteBackInput,
    more: Partial<SendRowsInput> = {},
  ): Promise<string | number> {
    const { connection, resource, batchId } = input;
    const planned = await worker.step('worktrack.planWriteBack', input);
    if ('readFirst' in planned) throw new Error('creates are not compared with the lake');
    const { plan } = planned;
    const rules = { turn: null, unknown: 'report', run: `${Math.random()}`, limitedSince: null } as const;
    const batch = { connection, resource, batchId, plan };
    for (let tries = 1; ; tries++)
      try {
        return (await worker.step('worktrack.sendRows', { ...batch, ...rules, ...more }, ++attempts)).rows;
      } catch (error) {
        const { type, message, nonRetryable } = error as {
          type: string;
          message: string;
          nonRetryable: boolean;
        };
        if (nonRetryable || tries === 5) return `${type}: ${message}`;
      }
  }

  const written = (): string[] => service.records.map(({ organization }) => organization);
  const keysOf = async (worker: ActivityMirror, { batchId }: WriteBackInput) =>
    (await readBatch(worker.store, batchId))?.file.keys?.length;

  /** Sends two rows with the key `a1`; the third is refused. */
  async function begin(rows = 3): Promise<{ worker: ActivityMirror; input: WriteBackInput }> {
    setKey('a1');
    const worker = startWorker();
    const input = await stageRows(worker, rows);
    const before = service.records.length;
    service.respond = ({ body }) => (body.description === `no. ${rows - 1}` ? CLOSED : null);
    expect(await send(worker, input)).toContain('Refused: ');
    expect(written().slice(before)).toEqual(new Array(rows - 1).fill('A'));
    expect(await keysOf(worker, input)).toBe(1);
    service.respond = () => null;
    return { worker: startWorker('two'), input };
  }

  it('may be replaced by a key of the same organization, which its own records show', async () => {
    const { worker, input } = await begin();
    setKey('a2', 'two');
    expect(await send(worker, input)).toBe(3);
    expect(written()).toEqual(['A', 'A', 'A']);
    expect(service.reads.length).toBeLessThanOrEqual(2);
    expect(await keysOf(worker, input)).toBe(2);
  });

  it('are never those of another organization, whose ids are the same', async () => {
    const { worker, input } = await begin();
    for (let row = 1; row <= 3; row++)
      service.records.push({ id: `r${row}`, organization: 'B', body: { description: `of B ${row}` } });
    setKey('b1', 'two');
    const stopped = await send(worker, input);
    expect(stopped).toMatch(/^Refused: .*the API key is new .*--same-organization/);
    expect(service.records.length).toBe(5);
    setKey('a1', 'two');
    expect(await send(startWorker('two'), input)).toBe(3);
  });

  it.each<[string, () => void]>([
    [
      'does not show records',
      () => {
        service.shows = 'nothing';
      },
    ],
    ['does not know the ids', () => service.records.splice(0)],
  ])('stop the batch if the service %s, and --same-organization continues it', async (_, make) => {
    const { worker, input } = await begin();
    make();
    const before = service.records.length;
    setKey('a2', 'two');
    expect(await send(worker, input)).toMatch(/^Refused: .*--same-organization/);
    expect(service.records.length).toBe(before);
    expect(await send(worker, input, { sameOrganization: true })).toBe(3);
    expect(service.records.length).toBe(before + 1);
    // It is known from now on.
    expect(await keysOf(worker, input)).toBe(2);
  });

  it('may be any key as long as no row was written', async () => {
    setKey('old');
    const first = startWorker();
    const input = await stageRows(first, 3);
    service.shows = 'nothing';
    expect(await send(first, input)).toMatch(/^Refused: .*refused .* with 401/);
    setKey('b1', 'two');
    const worker = startWorker('two');
    expect(await send(worker, input)).toBe(3);
    expect([written(), await keysOf(worker, input)]).toEqual([['B', 'B', 'B'], 1]);
  });

  it('are not replaced by a key that the service rejects', async () => {
    const { worker, input } = await begin();
    setKey('wrong', 'two');
    const stopped = await send(worker, input);
    expect(stopped).toMatch(/^Refused: .*401/);
    expect(stopped).not.toContain('--same-organization');
    expect(service.records.length).toBe(2);
  });

  it.each([0, 1, 5, 19])('may be replaced after %i rows, while rows are sent', async (after) => {
    await writeFile(keyFile(), 'a1');
    const worker = startWorker('one', `{ file: "${keyFile()}" }`);
    const input = await stageRows(worker, 20);
    service.organizationOf = (key) => (key === 'a1' && service.records.length >= after ? null : 'A');
    service.respond = async () => {
      if (service.records.length === after - 1) await writeFile(keyFile(), 'a2');
      return null;
    };
    if (after === 0) setTimeout(() => void writeFile(keyFile(), 'a2'), 400);
    expect(await send(worker, input)).toBe(20);
    expect(service.records.length).toBe(20);
  });

  it('may be those of two workers that take turns', async () => {
    const { worker: two, input } = await begin(6);
    const one = startWorker();
    setKey('a2', 'two');
    let rows: string | number = '';
    service.respond = ({ number }) => (number % 2 === 0 ? 'drop' : null);
    for (let turn = 0; rows !== 6 && turn < 6; turn++) rows = await send(turn % 2 === 0 ? two : one, input);
    expect(rows).toBe(6);
    expect(written()).toEqual(new Array(6).fill('A'));
  });

  it('are shown by the lists of the lake if the service shows no single record', async () => {
    setKey('a1');
    service.shows = 'list';
    for (let n = 1; n <= 30; n++)
      service.records.push({ id: `r${n}`, organization: 'A', body: { name: `project ${n}` } });
    await startWorker().run();
    const { worker, input } = await begin();
    setKey('a2', 'two');
    expect(await send(worker, input)).toBe(3);
    expect(await keysOf(worker, input)).toBe(2);
  });
});
