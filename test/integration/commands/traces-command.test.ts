import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEMO_ORGANIZATION } from '../../../src/simulator/index.js';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../../support/otlp-receiver.js';
import { freePort } from '../../support/ports.js';
import { runCommand, startWorkerProcess } from '../../support/processes.js';
import { type Stack, startStack } from '../../support/stack.js';

const KEY = 'wt_traced_marker_c41d77ae';
const TOKEN = 'token-of-the-collector';

/** The attempts of a request have their own run ids, with the same second. */
function secondOf(runId: unknown): string {
  return String(runId).split('-')[0]!;
}

describe('`--traces`', () => {
  let stack: Stack;
  let receiver: OtlpReceiver;
  let env: NodeJS.ProcessEnv;
  let place: string[];
  beforeEach(async () => {
    receiver = await startOtlpReceiver();
    stack = await startStack({
      simulator: { awkward: false, echoAuthorization: true, counts: { projects: 12 } },
      apiKey: KEY,
      resources: '[projects]',
    });
    stack.simulator.admin.keys.add({
      ...{ key: KEY, name: 'traced', organization: DEMO_ORGANIZATION },
      grants: ['projects:read'],
    });
    env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${TOKEN}`,
      OTEL_SERVICE_NAME: 'nightly-mirror',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=staging',
      // Sooner than every five seconds.
      OTEL_BSP_SCHEDULE_DELAY: '100',
    };
    place = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
  });
  afterEach(async () => {
    await stack?.stop();
    await receiver.close();
  });

  const exported = async (...more: string[]) => {
    const { code, stdout, stderr } = await runCommand(stack, ['export', ...place, '--json', ...more], env);
    expect(code, stderr).toBe(0);
    return (JSON.parse(stdout) as { runs: { runId: string }[] }).runs[0]!.runId;
  };
  /** The trace that has a run's activity. */
  const traceOf = (runId: string): readonly ReceivedSpan[] => {
    const activity = receiver.spans.find(
      ({ name, attributes }) =>
        name === 'RunActivity:worktrack.run' && secondOf(attributes['worktrack.run_id']) === secondOf(runId),
    );
    return receiver.spans.filter(({ traceId }) => traceId === activity?.traceId);
  };

  it('gives each export one trace, from the command to the activities, and can be turned on and off', async () => {
    const untraced = async (): Promise<void> => {
      const plain = await stack.startWorker();
      await exported();
      await plain.stop();
    };
    await untraced();
    // A page that is refused once, with the key in the answer, is in the trace as an attempt that failed.
    const rule = stack.simulator.admin.faults.add({
      match: { resource: 'projects', page: 0 },
      remaining: 6,
      fault: { kind: 'status', status: 503, body: `{"message":"no: Bearer ${KEY}"}` },
    });
    const worker = await startWorkerProcess(stack, env, ['--traces']);
    const runIds = [await exported('--traces'), await exported('--traces')];
    // A command and a worker send their last spans before they end.
    await worker.signal('SIGTERM');
    const traces = runIds.map(traceOf);
    await untraced();

    expect(stack.simulator.admin.faults.hits(rule)).toBe(6);
    expect(new Set(traces.map(([span]) => span!.traceId)).size).toBe(2);
    for (const [at, spans] of traces.entries()) {
      const names = spans.map(({ name }) => name);
      for (const name of [
        'StartWorkflow:exportWorkflow',
        'RunActivity:worktrack.planExport',
        'HandleSignal:requestRun',
        'RunActivity:worktrack.run',
      ])
        expect(names, `export ${at + 1}`).toContain(name);
      const [root, ...others] = spans.filter(({ parentSpanId }) => parentSpanId === undefined);
      expect(others).toEqual([]);
      expect(root).toMatchObject({
        name: 'StartWorkflow:exportWorkflow',
        attributes: { 'worktrack.connection': stack.connection },
      });
      for (const { name, attributes } of spans.filter((span) => /worktrack.run$/.test(span.name))) {
        if (!name.startsWith('RunActivity:')) continue;
        expect(attributes).toMatchObject({
          'worktrack.connection': stack.connection,
          'worktrack.resource': 'projects',
          'worktrack.run_id': expect.stringContaining(secondOf(runIds[at])),
          'worktrack.phase': 'run',
        });
      }
      // A mirror belongs to no trace, because it outlives all of them.
      expect(names).not.toContain('RunWorkflow:resourceMirrorWorkflow');
    }
    const handled = receiver.spans.find(({ name }) => name === 'HandleSignal:requestRun');
    expect(handled?.attributes).toMatchObject({
      temporalWorkflowId: stack.mirrorId('projects'),
      'worktrack.connection': stack.connection,
      'worktrack.resource': 'projects',
    });
    expect(receiver.spans.filter(({ name }) => /Query|Describe/.test(name))).toEqual([]);
    for (const { resource } of receiver.spans)
      expect(resource).toMatchObject({
        'service.name': 'nightly-mirror',
        'deployment.environment': 'staging',
      });
    for (const { authorization } of receiver.headers) expect(authorization).toBe(`Bearer ${TOKEN}`);
    expect(receiver.bodies.join('\n')).not.toContain(KEY);
    expect(receiver.bodies.join('\n')).not.toContain('wt_traced');
    const { stderr } = await worker.output();
    expect(stderr).not.toContain(TOKEN);
    // The mirror still recognizes its runs.
    const ids = receiver.spans.map(({ attributes }) => attributes['worktrack.run_id']);
    const seconds = ids.filter((id) => id !== undefined).map(secondOf);
    expect(new Set(seconds)).toEqual(new Set(runIds.map(secondOf)));
    const replayed = await runCommand(stack, ['replay', '--from-server', ...place]);
    expect(replayed.code, replayed.stdout + replayed.stderr).toBe(0);
  });

  it('never fails an export, and reports once that the collector rejects them', async () => {
    await receiver.close();
    env.OTEL_EXPORTER_OTLP_TIMEOUT = '500';
    const worker = await startWorkerProcess(stack, env, ['--traces']);
    await exported('--traces');
    await exported('--traces');
    await worker.signal('SIGTERM');
    const { stderr } = await worker.output();
    expect(stderr.match(/cannot send traces/g)).toHaveLength(1);
  });

  it('takes no time from that for the connection: a worker bundles the workflows before it connects', async () => {
    const { code, stderr } = await runCommand(stack, ['worker', ...place, '--traces'], {
      ...env,
      TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}`,
      WORKTRACK_REACH_TIMEOUT: '1s',
    });
    expect(code, stderr).toBe(4);
    expect(stderr).toMatch(/Workflow bundle created[\s\S]*is unreachable/);
  });

  it('exits with 2 for an unsupported protocol or endpoint, without showing the endpoint', async () => {
    const grpc = { ...env, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
    const noUrl = { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: `user:${TOKEN}@collector:4318` };
    const [first, second] = await Promise.all([
      runCommand(stack, ['export', ...place, '--traces'], grpc),
      runCommand(stack, ['worker', ...place, '--traces'], noUrl),
    ]);
    expect([first.code, second.code]).toEqual([2, 2]);
    expect(first.stderr).toContain('OTEL_EXPORTER_OTLP_PROTOCOL is "grpc"');
    expect(second.stderr).toContain('OTEL_EXPORTER_OTLP_ENDPOINT is not an http:// or https:// URL');
    expect(second.stderr).not.toContain(TOKEN);
  });
});
