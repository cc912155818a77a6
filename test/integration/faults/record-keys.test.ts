import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type EchoingService, type Spoil, startEchoingService } from '../../support/echoing-service.js';
import { historyText } from '../../support/history-text.js';
import { freePort } from '../../support/ports.js';
import { type CommandProcess, runCommand, startWorkerProcess } from '../../support/processes.js';
import { scrape } from '../../support/prometheus.js';
import { IS_LONG } from '../../support/seeds.js';
import { SHORT_BACK_OFFS } from '../../support/short-waits.js';
import { type Stack, startStack, until } from '../../support/stack.js';
import { watch } from '../../support/watch.js';
import { endLocks, fileIn } from '../../support/write-back.js';

/** How fetches of a project by its id fail, run by run. */
const FAILURES: readonly Spoil[] = IS_LONG ? [500, 422, 451, 403, 'html', 'reset', 'hang'] : [500, 'hang'];
/** How writes fail, batch by batch. */
const WRITE_FAILURES: readonly (Spoil | null)[] = IS_LONG
  ? [500, 422, 404, 'reset', 'hang', 403, null]
  : [422, 403];
const SOURCE = 'src marker/ü';

let stack: Stack;
let front: EchoingService;
let worker: CommandProcess | undefined;
afterEach(async () => {
  worker?.child.kill('SIGKILL');
  await worker?.exited;
  worker = undefined;
  await endLocks(stack);
  await stack?.stop();
});

describe('ids and keys of records', () => {
  it('appear in no history, heartbeat, log, metric, notification or answer, whatever the service echoes in its errors', async () => {
    const received: string[] = [];
    const hook = createServer((request, response) => {
      request.on('data', (piece) => received.push(String(piece))).on('end', () => response.end());
    });
    await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', () => resolve()));
    front = await startEchoingService(() => stack.simulator.url);
    stack = await startStack({
      s3: true,
      baseUrl: front.url,
      resources: '[projects, tasks, calendar-entries]',
      yaml:
        `    retries: { giveUpAfter: 4s }\n    http: { headersTimeout: 1s }\n` +
        `    notify: { url: "http://127.0.0.1:${(hook.address() as AddressInfo).port}/" }\n`,
      simulator: { counts: { projects: 40, tasks: 60, 'time-entries': 0, 'calendar-entries': 10 } },
    });
    stack.beforeStop(async () => {
      hook.close();
      await front.close();
    });
    const heartbeats = watchHeartbeats(stack);
    const metrics = `127.0.0.1:${await freePort()}`;
    worker = await startWorkerProcess(stack, SHORT_BACK_OFFS, ['--metrics', metrics]);
    const place = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
    const answers: string[] = [];
    const run = async (...args: string[]) => {
      const { stdout, stderr } = await runCommand(stack, [...args, ...place]);
      answers.push(stdout, stderr);
      return stdout;
    };

    /** On a slow machine, a run may give up before it asks for a single record. */
    const untilSpoilt = async (failure: string, command: () => Promise<string>): Promise<void> => {
      const before = front.spoilt();
      const isSpoilt = () => command().then(() => front.spoilt() > before);
      await until(isSpoilt, `a record is asked for: ${failure}`);
    };

    const isPublished = async () => JSON.parse(await run('export', '--json')).outcome === 'published';
    await until(isPublished, 'a first export is published, although little time is allowed');
    const known = idsOf(stack);
    for (const failure of FAILURES) {
      front.spoil((method, path) => (method === 'GET' && path.includes('/projects/') ? failure : null));
      await untilSpoilt(String(failure), () => run('export', '--resource', 'projects', '--json'));
    }
    await run('status', '--json');
    // The record that is gone cannot be asked for. The check of the organization, which takes every fourth, does not.
    const gone = idsOf(stack)[1]!;
    stack.simulator.admin.remove('projects', [gone]);
    front.spoil((_, path) => (path.endsWith(gone) ? 451 : null));
    await untilSpoilt('gone', () => run('backfill', '--resource', 'projects', '--reconcile'));

    const keys = Array.from({ length: 6 }, (_, n) => `key marker ${n}/"ä"`);
    const rows = keys.map((sourceKey) => ({
      ...{ source: SOURCE, sourceKey, title: `secret title ${sourceKey}` },
      startsAt: '2026-11-20T08:00:00Z',
    }));
    for (const failure of WRITE_FAILURES) {
      front.spoil((method) => (method === 'PUT' ? failure : null));
      const batch = rows.map((row) => ({ ...row, note: String(failure) }));
      const file = await fileIn(stack, JSON.stringify(batch), 'json');
      await run('write-back', 'calendar-entries', file, '--json');
      // The command itself prints the service's words about refused rows, which echo the row here. Nothing else has them.
      if (failure === 403 || failure === 404) answers.splice(-2);
    }
    await run('status');
    for (const command of ['history', 'report']) {
      const { code, stdout, stderr } = await runCommand(stack, [command, '--config', stack.configFile]);
      expect(code, stderr).toBe(0);
      answers.push(stdout, stderr);
    }
    const measured = await scrape(metrics);
    await worker.signal('SIGTERM');

    const texts = new Map<string, string>();
    for await (const { workflowId, runId } of stack.workflows()) {
      const handle = stack.temporal.client.workflow.getHandle(workflowId, runId);
      texts.set(`history of ${workflowId} ${runId}`, historyText(await handle.fetchHistory()));
    }
    texts.set('the answers', answers.join('\n'));
    texts.set('the notifications', received.join('\n'));
    texts.set('the log', Object.values(await worker.output()).join('\n'));
    texts.set('the metrics', measured.text);
    texts.set('the heartbeats', (await heartbeats.stop()).join('\n'));
    const all = [...texts.values()].join('\n');
    // The texts of failures are there; only the names of records are not.
    const signs = ['/projects/<id> answered 500', 'could not connect', 'the service refused'];
    expect(signs.filter((sign) => !all.includes(sign))).toEqual([]);
    expect(texts.get('the notifications')).toContain('projects');
    expect(texts.get('the heartbeats')).not.toBe('');
    const names = [...known, ...idsOf(stack), SOURCE, ...keys, 'secret title'];
    for (const [name, text] of texts)
      for (const form of names.flatMap(formsOf))
        expect(text.includes(form), `${name} shows a record's key as ${form}`).toBe(false);
    // About twenty commands in turn.
  }, 600_000);
});

function formsOf(name: string): string[] {
  return [
    ...new Set([name, name.toLowerCase(), encodeURIComponent(name), JSON.stringify(name).slice(1, -1)]),
  ];
}

/** Of all records that the service has. */
function idsOf({ simulator }: Stack): string[] {
  return ['projects', 'tasks', 'calendar-entries'].flatMap((resource) =>
    simulator.admin.records(resource).flatMap((text) => {
      const { id, sourceKey } = JSON.parse(text) as { id?: unknown; sourceKey?: unknown };
      return [id, sourceKey].filter((one) => typeof one === 'string' && one.length >= 6) as string[];
    }),
  );
}

/** Collects the heartbeat details of activities, which everyone with access to the namespace can read. */
function watchHeartbeats({ temporal, workflows }: Stack): { stop(): Promise<string[]> } {
  return watch(async () => {
    const found: string[] = [];
    for await (const { workflowId, runId } of workflows()) {
      const { raw } = await temporal.client.workflow.getHandle(workflowId, runId).describe();
      for (const { heartbeatDetails, lastFailure } of raw.pendingActivities ?? [])
        found.push(historyText({ heartbeatDetails, lastFailure }));
    }
    return found;
  });
}
