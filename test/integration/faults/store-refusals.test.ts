import { afterEach, describe, expect, it } from 'vitest';
import { addLargeRecords, type FaultyStack, startFaultyStack } from '../../support/faulty-stack.js';
import { letNextRunSpill } from '../../support/hold.js';
import { expectMirrored, idOf } from '../../support/mirrored.js';
import { runCommand } from '../../support/processes.js';
import { quickRetries } from '../../support/short-waits.js';
import { until } from '../../support/stack.js';

let faulty: FaultyStack;
afterEach(() => faulty?.stop());

const run = async (...args: string[]): Promise<string> => {
  const { stack } = faulty;
  const all = [...args, '--config', stack.configFile, '--task-queue', stack.taskQueue];
  const { code, stdout, stderr } = await runCommand(stack, all);
  expect(code, stderr).toBe(0);
  return stdout;
};

interface Status {
  readonly connections: readonly { readonly resources: readonly { name: string; warnings: string[] }[] }[];
}

async function warningsInStatus(): Promise<string> {
  const { connections } = JSON.parse(await run('status', '--json')) as Status;
  return connections.flatMap(({ resources }) => resources.flatMap(({ warnings }) => warnings)).join('\n');
}

describe('a store that limits requests', () => {
  it('is asked less often, as status says, and the run continues when the limit ends', async () => {
    faulty = await startFaultyStack();
    const { stack, s3 } = faulty;
    await stack.startWorker();
    const fault = { kind: 'status', status: 503, code: 'SlowDown', retryAfter: 1 } as const;
    const limit = s3.add({ path: /_staging\/tasks/, fault });
    letNextRunSpill(stack.simulator, 'tasks');
    const exporting = stack.export({ resources: ['tasks'] });
    let status = '';
    await until(async () => {
      status = await run('status');
      return status.includes('the store limits requests since');
    }, 'status says so');
    expect(status).toContain('503 SlowDown: Made up by the test');
    // The SDK sends at most some requests per second, instead of repeating them immediately.
    const before = limit.hits;
    const begun = Date.now();
    await until(() => Date.now() - begun > 2_000, 'two seconds have passed');
    expect((limit.hits - before) / (Date.now() - begun)).toBeLessThan(10 / 1_000);
    s3.clear();
    const result = await exporting;
    expect(result.outcome, JSON.stringify(result.runs)).toBe('published');
    await expectMirrored(stack, 'tasks');
  });
});

describe('deletes that the store denies', () => {
  const WARNING =
    /clean-up: the store refused to remove (\d+) objects .*\(403 AccessDenied: Made up by the test\)/;
  const countIn = (text: string): number => Number(WARNING.exec(text)?.[1] ?? 0);

  it('are a warning of export, status and the report, with their number, until they are allowed', async () => {
    faulty = await startFaultyStack();
    const { stack, s3 } = faulty;
    const { admin } = stack.simulator;
    await stack.startWorker();
    // One response with an error for each object, as of an object lock, or a refusal of the whole request.
    s3.add({
      method: 'POST',
      path: /[?&]delete/,
      fault: { kind: 'status', status: 403, code: 'AccessDenied' },
    });
    s3.add({ method: 'DELETE', fault: { kind: 'status', status: 403, code: 'AccessDenied' } });
    letNextRunSpill(stack.simulator, 'tasks');
    const first = await stack.export({ resources: ['tasks'] });
    expect(first.outcome).toBe('published');
    const left = countIn(first.runs[0]!.warnings.join('\n'));
    expect(left).toBeGreaterThan(0);
    expect(countIn(await warningsInStatus())).toBe(left);

    admin.update('tasks', idOf(admin.records('tasks')[0]!), { title: 'changed' });
    letNextRunSpill(stack.simulator, 'tasks');
    const second = await stack.export({ resources: ['tasks'], full: true });
    expect(second.outcome).toBe('published');
    const more = second.runs[0]!.warnings.filter((warning) => WARNING.test(warning));
    // Not once for each run.
    expect(more).toHaveLength(1);
    expect(countIn(more[0]!)).toBeGreaterThan(left);
    expect(await run('report', '--resource', 'tasks')).toMatch(/refused to remove \d+ objects/);
    await expectMirrored(stack, 'tasks');

    s3.clear();
    await stack.export({ resources: ['tasks'], full: true });
    const last = await stack.export({ resources: ['tasks'], full: true });
    expect(last.runs[0]!.warnings.join('\n')).not.toContain('clean-up:');
    expect(await warningsInStatus()).not.toContain('clean-up:');
    for await (const { key } of stack.store.list('_staging/tasks/')) expect.unreachable(`${key} is left`);
  });

  it('denied deletes of single objects are counted, and the others are removed', async () => {
    faulty = await startFaultyStack();
    const { stack, s3 } = faulty;
    await stack.startWorker();
    const locked = (body: string): string =>
      body.replace(
        /<DeleteResult[^>]*?\/>|<DeleteResult[^>]*>.*?<\/DeleteResult>/s,
        '<DeleteResult><Error><Key>lake/_staging/tasks/x</Key><Code>AccessDenied</Code><Message>Object is locked</Message></Error></DeleteResult>',
      );
    s3.add({ method: 'POST', path: /[?&]delete/, fault: { kind: 'rewrite', body: locked } });
    letNextRunSpill(stack.simulator, 'tasks');
    const { runs, outcome } = await stack.export({ resources: ['tasks'] });
    expect(outcome).toBe('published');
    expect(runs[0]!.warnings.join('\n')).toMatch(
      /refused to remove \d+ object.*\(403 AccessDenied: Object is locked\)/,
    );
  });
});

describe('uploads whose checksums the store refuses', () => {
  it('are repeated without them by the next attempt of the step', async () => {
    faulty = await startFaultyStack('', '    csv: { compression: none, partSize: 9MiB }\n');
    const { stack, s3 } = faulty;
    await stack.startWorker(undefined, quickRetries);
    addLargeRecords(faulty);
    const fault = { kind: 'status', status: 400, code: 'InvalidPart' } as const;
    const refused = s3.add({
      method: 'POST',
      header: /^x-amz-checksum-type: FULL_OBJECT$/m,
      path: /uploadId=/,
      fault,
    });
    const { runs, outcome } = await stack.export({ resources: ['members'] });
    expect(outcome, JSON.stringify(runs)).toBe('published');
    expect(refused.hits).toBeGreaterThan(0);
    await expectMirrored(stack, 'members');
  });
});
