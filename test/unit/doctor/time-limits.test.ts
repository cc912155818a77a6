import { afterEach, describe, expect, it } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import { OutOfReachError } from '../../../src/core/reachability.js';
import { checkService } from '../../../src/doctor/check-service.js';
import { temporalFailure } from '../../../src/doctor/check-temporal.js';
import { DEMO_KEY, type Fault, type Simulator, startSimulator } from '../../../src/simulator/index.js';

describe('a server that takes too long', () => {
  let simulator: Simulator | undefined;
  afterEach(() => simulator?.close());

  it.each<[string, Fault]>([
    ['does not answer', { kind: 'hang' }],
    ['sends its answer too slowly', { kind: 'drip', bytes: 1, everyMs: 100 }],
  ])('is reported with one text: a service that %s', async (_, fault) => {
    simulator = await startSimulator({ awkward: false });
    simulator.admin.faults.add({ fault });
    process.env.WORKTRACK_DOCTOR_TEST_KEY = DEMO_KEY;
    const { connections } = parseSettings(
      `connections: { acme: { baseUrl: "${simulator.url}", apiKey: { env: WORKTRACK_DOCTOR_TEST_KEY }, lake: { url: "file:///tmp/none" } } }`,
      'worktrack.yaml',
    );
    const [first] = await checkService(connections[0]!, 1_000);
    expect(first).toMatchObject({ check: 'service', message: 'projects: no response within 1 s' });
  });

  it.each([
    ['of the doctor', new OutOfReachError('no response within 10 s')],
    ["of the client's connection", new Error('Failed to connect before the deadline')],
    [
      'of a call',
      Object.assign(new Error('4 DEADLINE_EXCEEDED'), {
        code: 4,
        details: 'Deadline exceeded after 10.002s',
      }),
    ],
  ])('is reported with one text: Temporal, by the limit %s', (_, error) => {
    const place = { address: 'temporal.example.com:7233', namespace: 'default' };
    expect(temporalFailure(error, place, 10_000).message).toBe(
      'Temporal at temporal.example.com:7233 is unreachable: no response within 10 s',
    );
  });
});
