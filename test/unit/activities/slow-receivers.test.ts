import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { announceRun } from '../../../activities/alerts/send-alert.js';
import { SlowReceivers } from '../../../activities/alerts/slow-receivers.js';
import type { ActivityDeps } from '../../../activities/index.js';
import { parseSettings } from '../../../src/config/index.js';
import type { AnnounceInput } from '../../../src/core/contract/index.js';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/core/duration.js';

/** A post that ends when the test says so. */
class Post {
  readonly ended: Promise<string>;
  readonly done!: () => void;
  readonly fail!: (error: Error) => void;
  readonly #answer = new Promise<string>((resolve, reject) => {
    Object.assign(this, { done: () => resolve('answer'), fail: reject });
  });
  isSent = false;

  constructor(receivers: SlowReceivers, id: string) {
    this.ended = receivers.post(id, 'the target', () => {
      this.isSent = true;
      return this.#answer;
    });
    this.ended.catch(() => {});
  }
}

describe('A receiver of published runs', () => {
  let now: number;
  let receivers: SlowReceivers;
  beforeEach(() => {
    now = 1_000;
    receivers = new SlowReceivers(() => now);
  });
  const post = (id = 'a'): Post => new Post(receivers, id);
  /** The wait until the next attempt; ms. */
  const waitOf = ({ ended }: Post): Promise<number> =>
    ended.then(
      () => 0,
      ({ nextRetryDelay }) => nextRetryDelay as number,
    );
  async function timeOut(one: Post): Promise<void> {
    now += 15 * SECOND_MS;
    one.fail(new Error('no answer'));
    await expect(one.ended).rejects.toThrow('no answer');
  }

  it('gets any number of posts at the same time if it answers quickly', async () => {
    const posts = Array.from({ length: 50 }, () => post());
    now += SECOND_MS;
    posts.push(post());
    for (const one of posts) one.done();
    for (const one of posts) expect(await one.ended).toBe('answer');
  });

  it('gets one post at a time if it does not answer, and one in five minutes in the end', async () => {
    const first = [post(), post()];
    now += 3 * SECOND_MS;
    const third = post();
    expect([third.isSent, await waitOf(third)]).toEqual([false, expect.any(Number)]);
    expect(await waitOf(third)).toBeLessThanOrEqual(15 * SECOND_MS);
    now += 12 * SECOND_MS;
    for (const one of first) one.fail(new Error('no answer'));
    await Promise.allSettled(first.map(({ ended }) => ended));
    for (const pause of [1, 2, 4, 5, 5].map((minutes) => minutes * MINUTE_MS)) {
      expect(await waitOf(post())).toBe(pause);
      now += pause;
      const probe = post();
      expect(probe.isSent).toBe(true);
      // Those that have waited for the pause come at the same moment.
      for (let at = 0; at < 10; at++) expect(post().isSent).toBe(false);
      await timeOut(probe);
    }
    // Meanwhile, others are served.
    const other = post('b');
    expect(other.isSent).toBe(true);
  });

  it('takes a twentieth of a slot if it does not answer, however many runs try again', async () => {
    const HOURS = 4;
    const due = Array.from({ length: 100 }, (_, at) => now + at * MINUTE_MS);
    const end = now + HOURS * HOUR_MS;
    let probe: { post: Post; at: number } | null = null;
    let busyMs = 0;
    while (now < end) {
      const next = Math.min(...due);
      now = Math.min(next, probe?.at ?? next);
      if (probe !== null && probe.at <= now) {
        probe.post.fail(new Error('no answer'));
        await probe.post.ended.catch(() => {});
        probe = null;
        continue;
      }
      const one = post();
      if (one.isSent) {
        expect(probe).toBeNull();
        probe = { post: one, at: now + 15 * SECOND_MS };
        busyMs += 15 * SECOND_MS;
      }
      due[due.indexOf(next)] = one.isSent ? now + 5 * MINUTE_MS : now + (await waitOf(one));
    }
    expect(busyMs / (HOURS * HOUR_MS)).toBeLessThan(0.06);
    expect(busyMs).toBeGreaterThan(30 * 15 * SECOND_MS);
  });

  it('gets all posts again when it answers again', async () => {
    const slow = post();
    await timeOut(slow);
    now += MINUTE_MS;
    const probe = post();
    expect(post().isSent).toBe(false);
    probe.done();
    await probe.ended;
    expect([post(), post()].map(({ isSent }) => isSent)).toEqual([true, true]);
  });

  it('gets its posts in turn if it is slow, and at the same time if it fails quickly', async () => {
    for (let at = 0; at < 3; at++) {
      const one = post();
      expect(one.isSent).toBe(true);
      now += 3 * SECOND_MS;
      expect(post().isSent).toBe(false);
      one.done();
      await one.ended;
    }
    const failing = post();
    failing.fail(new Error('ECONNREFUSED'));
    await expect(failing.ended).rejects.toThrow();
    expect([post(), post()].map(({ isSent }) => isSent)).toEqual([true, true]);
  });

  it('is not judged by a worker that stops', async () => {
    const stopped = post();
    now += 10 * SECOND_MS;
    stopped.fail(Object.assign(new Error('stopped'), { name: 'AbortError' }));
    await expect(stopped.ended).rejects.toThrow();
    expect(post().isSent).toBe(true);
  });
});

describe('The activity that announces a run', () => {
  let server: Server;
  afterEach(() => server.close());

  it('posts nothing while another one waits for the same target, and is tried again soon', async () => {
    const waiting: ServerResponse[] = [];
    let arrived = (): void => {};
    const isAsked = new Promise<void>((done) => {
      arrived = done;
    });
    server = createServer((request, response) => {
      request.resume().on('end', () => {
        waiting.push(response);
        arrived();
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    const [settings] = parseSettings(
      `connections:
  acme:
    baseUrl: http://127.0.0.1
    apiKey: { env: API_KEY }
    lake: { url: "file:///tmp/lake" }
    notify: { url: "http://127.0.0.1:${port}/", on: [published] }
`,
      'worktrack.yaml',
    ).connections;
    const deps = { connection: () => ({ settings }), now: Date.now } as unknown as ActivityDeps;
    let now = 0;
    const receivers = new SlowReceivers(() => now);
    const announce = (runId: string): Promise<void> => {
      const report = { resource: 'tasks', runId, rows: 1, counts: {}, snapshot: 's' };
      const input = { connection: 'acme', report, targets: [settings!.notify[0]!.id] };
      return new MockActivityEnvironment().run(() =>
        announceRun(deps, input as unknown as AnnounceInput, receivers),
      );
    };
    const first = announce('one');
    await isAsked;
    now += 3 * SECOND_MS;
    await expect(announce('two')).rejects.toMatchObject({
      ...{ type: 'Transient', nonRetryable: false, nextRetryDelay: expect.any(Number) },
      message: expect.stringContaining('connections.acme.notify did not answer or was slow'),
    });
    expect(waiting).toHaveLength(1);
    for (const response of waiting) response.end();
    await first;
    server.on('request', (_, response: ServerResponse) => response.end());
    await announce('two');
    expect(waiting).toHaveLength(2);
  });
});
