import { writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { parseSettings } from '../../src/config/index.js';
import type { ExportResult } from '../../src/core/contract/index.js';
import { readChain } from '../../src/lake/published/chain.js';
import { openStore } from '../../src/lake/store/index.js';
import { verifySnapshot } from '../../src/lake/verify/verify-lake.js';
import { idOf } from '../support/mirrored.js';
import { assertRowEquals } from '../support/oracle.js';
import { startWorkerProcess } from '../support/processes.js';
import { seededRandom } from '../support/random.js';
import { readPointer, readSnapshot } from '../support/snapshot.js';
import { type Stack, startStack } from '../support/stack.js';
import { type HostileService, startHostileServices } from './support/hostile-services.js';

const SEED = Number(process.env.WORKTRACK_SEED);
/** How long workers are killed while hostile services answer. The quiet part before takes a third of it. */
const SECONDS = Number(process.env.WORKTRACK_SECONDS ?? 600);
const POLITE = ['polite-1', 'polite-2'] as const;
const RESOURCES = ['tasks', 'projects'] as const;
const KILL_EVERY_MS = { least: 15_000, more: 15_000 };
const PAUSE_MS = 2_000;

let stack: Stack;
let hostile: HostileService[] = [];
afterEach(async () => {
  for (const { close } of hostile) close();
  await stack?.stop();
});

function connectionYaml(name: string, url: string, isHostile: boolean): string {
  const { s3Endpoint, s3Region } = stack.servers;
  return `  ${name}:
    baseUrl: ${url}
    apiKey: { env: WORKTRACK_API_KEY }
    lake: { url: "s3://${stack.bucket}/${name}", endpoint: "${s3Endpoint}", region: ${s3Region}, forcePathStyle: true }
    resources: [${RESOURCES.join(', ')}]
    sync: { overlap: 1m, pageSize: 50 }
${isHostile ? '    retries: { giveUpAfter: 30s }\n' : ''}`;
}

const median = (of: readonly number[]): number => [...of].sort((a, b) => a - b)[Math.floor(of.length / 2)]!;

describe(`two polite connections among hostile services (seed ${SEED}, ${SECONDS} s)`, () => {
  it('publish within twice the time of a quiet run, lose nothing and double nothing while workers are killed', {
    timeout: (SECONDS * 2 + 600) * 1000,
  }, async () => {
    const random = seededRandom(SEED);
    stack = await startStack({ simulator: { seed: SEED, counts: { tasks: 1_000, projects: 40 } } });
    hostile = await startHostileServices();
    const hostileNames = hostile.map(({ name }) => `hostile-${name.replaceAll(' ', '-')}`);
    const text = `connections:\n${[
      ...POLITE.map((name) => connectionYaml(name, stack.simulator.url, false)),
      ...hostile.map(({ url }, at) => connectionYaml(hostileNames[at]!, url, true)),
    ].join('')}`;
    await writeFile(stack.configFile, text);
    const { connections } = parseSettings(text, stack.configFile);
    const stores = connections
      .filter(({ name }) => name.startsWith('polite'))
      .map(({ lake }) => openStore(lake));
    const workers = [await startWorkerProcess(stack), await startWorkerProcess(stack)];
    const { client } = stack.temporal;
    let started = 0;
    const exportOf = (connection: string): Promise<ExportResult> =>
      client.workflow.execute('exportWorkflow', {
        workflowId: `${connection}-export-${++started}`,
        taskQueue: stack.taskQueue,
        args: [{ connection }],
      }) as Promise<ExportResult>;

    let rounds = 0;
    let kills = 0;
    let isOver = false;
    /** Kills one of the two workers at random times until the end. */
    const killWorkers = async (): Promise<void> => {
      while (!isOver) {
        await pause(KILL_EVERY_MS.least + random.below(KILL_EVERY_MS.more));
        if (isOver) return;
        const victim = random.below(2);
        await workers[victim]!.signal('SIGKILL');
        workers[victim] = await startWorkerProcess(stack);
        kills++;
      }
    };
    const outcomes: Record<string, number> = {};
    const exportHostile = async (connection: string): Promise<void> => {
      while (!isOver) {
        const { outcome } = await exportOf(connection).catch(() => ({ outcome: 'stopped' }));
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        await pause(500);
      }
    };
    /** Rounds of exports of the polite connections, each compared with the service. @returns seconds of each round */
    const politeRounds = async (seconds: number): Promise<number[]> => {
      const took: number[] = [];
      for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
        for (const resource of RESOURCES) {
          stack.simulator.admin.touch(resource, { count: 1 + random.below(30), pick: 'spread' });
          stack.simulator.admin.create(resource, { name: `made in round ${++rounds}` });
        }
        const began = performance.now();
        const ended = await Promise.all(POLITE.map(exportOf));
        took.push((performance.now() - began) / 1000);
        expect(ended.map(({ outcome }) => outcome)).toEqual(POLITE.map(() => 'published'));
        await expectEqual();
        await pause(PAUSE_MS);
      }
      return took;
    };
    const expectEqual = async (): Promise<void> => {
      for (const resource of RESOURCES) {
        const records = new Map(stack.simulator.admin.records(resource).map((one) => [idOf(one), one]));
        for (const store of stores) {
          const { rows } = await readSnapshot(store, resource);
          expect(rows.map(({ id }) => id).sort()).toEqual([...records.keys()].sort());
          for (const row of rows) assertRowEquals(row, records.get(row.id!)!);
        }
      }
    };

    const quietKills = killWorkers();
    const quiet = await politeRounds(SECONDS / 3);
    const killsBefore = kills;
    const bad = hostileNames.map(exportHostile);
    const among = await politeRounds(SECONDS);
    isOver = true;
    await quietKills;
    const figures = (of: readonly number[]): string =>
      `${of.length} rounds, median ${median(of).toFixed(1)} s, longest ${Math.max(...of).toFixed(1)} s`;
    console.log(`quiet: ${figures(quiet)}, ${killsBefore} kills`);
    console.log(`among ${hostile.length} hostile services: ${figures(among)}, ${kills - killsBefore} kills`);
    console.log(`hostile exports: ${JSON.stringify(outcomes)}`);
    console.log(hostile.map(({ name, requests }) => `${name}: ${requests()} requests`).join(', '));
    for (const { name, requests } of hostile) expect(requests(), name).toBeGreaterThan(0);
    expect(kills).toBeGreaterThan(killsBefore);
    expect(median(among)).toBeLessThan(2 * median(quiet));
    for (const store of stores) {
      for (const resource of RESOURCES) {
        expect((await verifySnapshot(store, resource)).problems).toEqual([]);
        const runs: string[] = [];
        const pointer = { ...(await readPointer(store, resource)), resource };
        for await (const { runId } of readChain(store, pointer)) runs.push(runId);
        expect(runs).toHaveLength(quiet.length + among.length);
        expect(new Set(runs).size).toBe(runs.length);
      }
      store.close();
    }
    for (const worker of workers) await worker.signal('SIGKILL');
    // The exports of hostile services end with their server.
    void Promise.allSettled(bad);
  });
});
