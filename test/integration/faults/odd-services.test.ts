import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import { type ExportResult, mirrorWorkflowId } from '../../../src/core/contract/index.js';
import { type ObjectStore, openStore } from '../../../src/lake/store/index.js';
import type { Simulator } from '../../../src/simulator/index.js';
import {
  expectOutcomes,
  ODD_CASES,
  type OddRequest,
  oddConnection,
  oddName,
  runOdd,
  startOdd,
} from '../../support/odd/index.js';
import { drawn } from '../../support/seeds.js';
import { shortenBackOffs } from '../../support/short-waits.js';
import { OWN_THREAD, resultOf, type Stack, startStack } from '../../support/stack.js';

shortenBackOffs();

/** What shows other parts of the connection to Temporal: the export, requests, retries, exit codes, and the end of retries. */
const CONNECTED = [
  'empty-204',
  'error-in-200-at-first',
  'heavy-cut',
  'list-cut',
  'plain-403',
  'key-replaced',
];

/** The services that do not wait are all tried without Temporal in test/unit/mirror/odd-services.test.ts. */
const CASES = drawn(
  ODD_CASES,
  3,
  ({ odd: [name], title, waits }) => waits === true || (title === undefined && CONNECTED.includes(name!)),
);

/** Each odd service is a connection of one worker. All are exported side by side, and each test waits for its own. */
describe('an export, two increments and a reconcile of an odd service', () => {
  let stack: Stack;
  const simulators: Simulator[] = [];
  const stores: ObjectStore[] = [];
  const outcomes: ReturnType<typeof runOdd>[] = [];

  beforeAll(async () => {
    stack = await startStack({ resources: '[tasks]' });
    const keyFileOf = (at: number): string => join(stack.folder, `key-${at}`);
    for (const one of CASES) simulators.push(await startOdd(one));
    const yaml = CASES.map((one, at) => {
      const name = connectionOf(at);
      const { url } = simulators[at]!;
      return oddConnection(one, name, { url, lake: join(stack.folder, name), keyFile: keyFileOf(at) });
    });
    const settings = parseSettings(`connections:\n${yaml.join('')}`, 'odd.yaml');
    // Most of them wait for the service, so many may do so at the same time.
    const limits = { maxConcurrentActivities: 64, maxActivityMemoryBytes: 4 * 2 ** 30 };
    await stack.startWorker(settings, { ...limits, ...OWN_THREAD });
    CASES.forEach((one, at) => {
      const store = openStore(settings.connections[at]!.lake);
      stores.push(store);
      const place = { simulator: simulators[at]!, keyFile: keyFileOf(at), store };
      const exportOnce = (request: OddRequest, run: number) =>
        exportFrom(stack, { connection: connectionOf(at), ...request }, run);
      const outcome = runOdd(one, { ...place, exportOnce });
      outcome.catch(() => {});
      outcomes.push(outcome);
    });
  });
  afterAll(async () => {
    const mirrors = CASES.map((_, at) => mirrorWorkflowId(connectionOf(at), 'tasks'));
    const end = (id: string) => stack.temporal.client.workflow.getHandle(id).terminate('end of the test');
    await Promise.all(mirrors.map((id) => end(id).catch(() => {})));
    await stack?.stop();
    for (const store of stores) store.close();
    await Promise.all(simulators.map((simulator) => simulator.close()));
  });

  it.each(CASES.map((one, at) => [oddName(one), at] as const))(
    '%s',
    async (_, at) => {
      expectOutcomes(CASES[at]!, await outcomes[at]!);
    },
    900_000,
  );
});

const connectionOf = (at: number): string => `odd-${at}`;

async function exportFrom(
  { temporal, taskQueue }: Stack,
  input: { readonly connection: string },
  run: number,
): Promise<ExportResult> {
  const workflowId = `worktrack/${input.connection}/export/${run}`;
  const options = { workflowId, taskQueue, args: [input] };
  const handle = await temporal.client.workflow.start('exportWorkflow', options);
  return handle.result().catch(resultOf) as Promise<ExportResult>;
}
