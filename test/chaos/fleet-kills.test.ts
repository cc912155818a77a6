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
import { isStaged, readPointer, readSnapshot } from '../support/snapshot.js';
import { type Stack, startStack } from '../support/stack.js';

const SEED = Number(process.env.WORKTRACK_SEED);
const ROUNDS = Number(process.env.WORKTRACK_ROUNDS ?? 20);
const CONNECTIONS = 20;
const RESOURCES = ['tasks', 'projects'] as const;
/** A worker is killed within this time after the start of all exports. */
const KILL_WITHIN_MS = 4000;

describe(`a fleet of ${CONNECTIONS} connections on two workers (seed ${SEED}, ${ROUNDS} rounds)`, () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('loses nothing and doubles nothing when one worker is killed', {
    timeout: (5 + ROUNDS) * 60_000,
  }, async () => {
    const random = seededRandom(SEED);
    stack = await startStack({ simulator: { seed: SEED, counts: { tasks: 60, projects: 12 } } });
    const names = Array.from({ length: CONNECTIONS }, (_, n) => `${stack.connection}-${n}`);
    const { s3Endpoint, s3Region } = stack.servers;
    const text = `connections:\n${names
      .map(
        (name) => `  ${name}:
    baseUrl: ${stack.simulator.url}
    apiKey: { env: WORKTRACK_API_KEY }
    lake: { url: "s3://${stack.bucket}/${name}", endpoint: "${s3Endpoint}", region: ${s3Region}, forcePathStyle: true }
    resources: [${RESOURCES.join(', ')}]
    sync: { overlap: 1m, pageSize: 25 }
`,
      )
      .join('')}`;
    await writeFile(stack.configFile, text);
    const { connections } = parseSettings(text, stack.configFile);
    const stores = connections.map(({ lake }) => openStore(lake));
    const workers = [await startWorkerProcess(stack), await startWorkerProcess(stack)];
    const { client } = stack.temporal;
    const exportAll = async (round: number | string, kill: () => Promise<void>): Promise<void> => {
      const running = names.map((connection) =>
        client.workflow.execute('exportWorkflow', {
          workflowId: `${connection}-${round}`,
          taskQueue: stack.taskQueue,
          args: [{ connection }],
        }),
      );
      const ended = Promise.all(running) as Promise<ExportResult[]>;
      ended.catch(() => {});
      await kill();
      const failed = (await ended).flatMap(({ runs }) =>
        runs.filter(({ outcome }) => outcome !== 'published'),
      );
      expect(failed).toEqual([]);
    };
    const check = async (): Promise<void> => {
      for (const resource of RESOURCES) {
        const records = new Map(stack.simulator.admin.records(resource).map((one) => [idOf(one), one]));
        for (const store of stores) {
          const { rows } = await readSnapshot(store, resource);
          expect(rows.map(({ id }) => id).sort()).toEqual([...records.keys()].sort());
          for (const row of rows) assertRowEquals(row, records.get(row.id!)!);
        }
      }
    };
    for (let round = 1; round <= ROUNDS; round++) {
      for (const resource of RESOURCES) {
        stack.simulator.admin.touch(resource, { count: 1 + random.below(30), pick: 'spread' });
        stack.simulator.admin.create(resource, { name: `made in round ${round}` });
      }
      const victim = random.below(2);
      const delayMs = random.below(KILL_WITHIN_MS);
      await exportAll(round, async () => {
        await pause(delayMs);
        await workers[victim]!.signal('SIGKILL');
        workers[victim] = await startWorkerProcess(stack);
      });
      await check();
      console.log(`round ${round}: worker ${victim} killed after ${delayMs} ms`);
    }
    // Without a kill, each mirror removes what the killed attempts left.
    await exportAll('last', async () => {});
    for (const store of stores) {
      for await (const { key } of store.list('_staging/')) expect(isStaged(key), key).toBe(false);
      for (const resource of RESOURCES) {
        expect((await verifySnapshot(store, resource)).problems).toEqual([]);
        const runs = new Set<string>();
        const pointer = { ...(await readPointer(store, resource)), resource };
        for await (const { runId } of readChain(store, pointer)) runs.add(runId);
        expect(runs.size).toBe(ROUNDS + 1);
      }
      store.close();
    }
    for (const worker of workers) await worker.signal('SIGTERM');
  });
});
