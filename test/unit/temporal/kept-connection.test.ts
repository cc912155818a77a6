import { describe, expect, it, vi } from 'vitest';
import type { OutOfReachError } from '../../../src/core/reachability.js';
import type { TemporalConfig } from '../../../src/temporal/client/connect.js';
import { KeptConnection, type KeptConnectionOptions } from '../../../src/temporal/client/kept-connection.js';

/** A connection with a name, and what a server knows of it. */
interface Fake {
  readonly key: string;
  isOpen: boolean;
}

/** A server that accepts some keys, a file with the key, and a clock. */
async function world(more: Partial<KeptConnectionOptions<Fake>> = {}) {
  const state = {
    accepted: ['first'],
    file: 'first' as string | Error,
    now: Date.parse('2026-11-26T02:00:00Z'),
    silent: false,
  };
  const log: string[] = [];
  const opened: Fake[] = [];
  const used: Fake[] = [];
  const seconds: number[] = [];
  const gaveUp: OutOfReachError[] = [];
  const kept = await KeptConnection.open<Fake>({
    holder: 'this worker',
    read() {
      if (state.file instanceof Error) throw state.file;
      const apiKey = state.file;
      return {
        connectionOptions: { address: 'temporal:7233', apiKey },
        namespace: 'default',
      } as TemporalConfig;
    },
    async connect({ connectionOptions }) {
      const connection = { key: String(connectionOptions.apiKey), isOpen: true };
      opened.push(connection);
      return connection;
    },
    probe({ key }) {
      if (state.silent) return new Promise(() => {});
      return state.accepted.includes(key) ? Promise.resolve() : Promise.reject(denied(`key ${key}`));
    },
    async close(connection) {
      connection.isOpen = false;
    },
    exchange: (next) => used.push(next),
    log: { info: (message) => log.push(message), warn: (message) => log.push(message) },
    onProbe: (found) => seconds.push(found),
    onGiveUp: (error) => gaveUp.push(error),
    ...{ noAnswerMs: 5, closedAfterMs: 5 },
    now: () => state.now,
    ...more,
  });
  const pass = async (ms: number): Promise<void> => {
    state.now += ms;
    await kept.check();
  };
  return { state, log, opened, used, seconds, gaveUp, kept, pass };
}

function denied(details: string): Error {
  return Object.assign(new Error(details), { code: 16, details });
}

describe('a connection that is kept', () => {
  it('counts as disconnected from 30 s after the first failure on, until Temporal accepts it again', async () => {
    const { state, kept, pass, seconds } = await world();
    await pass(10_000);
    state.accepted = [];
    await pass(10_000);
    expect(kept.isDisconnected).toBe(false);
    state.now += 29_999;
    expect(kept.isDisconnected).toBe(false);
    state.now += 1;
    expect(kept.isDisconnected).toBe(true);
    await pass(0);
    expect(kept.isDisconnected).toBe(true);
    state.accepted = ['first'];
    await pass(10_000);
    expect(kept.isDisconnected).toBe(false);
    expect(seconds).toEqual([0, 0, 30, 0]);
  });

  it('logs the first failure, then once a minute, then the end', async () => {
    const { state, log, pass } = await world();
    state.accepted = [];
    for (let probe = 0; probe < 13; probe++) await pass(10_000);
    expect(log).toHaveLength(3);
    expect(log[0]).toBe(
      'Temporal at temporal:7233 has not accepted this worker since 2026-11-26T02:00:10Z: it rejects the credentials (key first). Renew the certificate or the API key in its file, which is read again every 10 s; a changed variable needs a restart.',
    );
    state.accepted = ['first'];
    await pass(10_000);
    expect(log.slice(3)).toEqual(['Temporal accepts this worker again, after 2m10s']);
    state.accepted = [];
    await pass(1_000);
    expect(log[4]).toContain('since 2026-11-26T02:02:21Z');
  });

  it('uses new credentials before the earlier ones are rejected, and closes the earlier connection', async () => {
    const { state, log, kept, opened, used, pass } = await world();
    state.file = 'second';
    state.accepted = ['first', 'second'];
    await pass(10_000);
    expect(kept.current.key).toBe('second');
    expect(used).toEqual([opened[1]]);
    await vi.waitFor(() => expect(opened.map(({ isOpen }) => isOpen)).toEqual([false, true]), {
      timeout: 60_000,
    });
    expect(log).toEqual([
      'connected to Temporal at temporal:7233 again, because the address or the credentials have changed',
    ]);
    await pass(10_000);
    expect(opened).toHaveLength(2);
  });

  it.each([
    ['are rejected', 'wrong', 'it rejects the credentials (key wrong)'],
    ['cannot be read', new Error('no such file'), 'no such file'],
  ])('keeps the connection while it is accepted and the new credentials %s', async (_, file, cause) => {
    const { state, log, kept, opened, pass } = await world();
    state.file = file;
    for (let probe = 0; probe < 6; probe++) await pass(10_000);
    expect(kept.isDisconnected).toBe(false);
    expect(log).toEqual([
      `The changed address or credentials of Temporal are not used: ${cause}. Temporal still accepts this worker with the earlier ones.`,
    ]);
    expect(kept.current).toBe(opened[0]);
    expect(opened.filter(({ isOpen }) => isOpen)).toEqual([opened[0]]);
  });

  it('fails if neither the connection nor the file is good, and uses the file once it is', async () => {
    const { state, log, kept, pass } = await world();
    state.accepted = ['second'];
    state.file = new Error('half written');
    await pass(10_000);
    expect(log[0]).toContain('has not accepted this worker since 2026-11-26T02:00:10Z: half written');
    state.file = 'second';
    await pass(40_000);
    expect([kept.current.key, kept.isDisconnected]).toEqual(['second', false]);
    expect(log.slice(1)).toEqual([
      'connected to Temporal at temporal:7233 again, because the address or the credentials have changed',
      'Temporal accepts this worker again, after 40s',
    ]);
  });

  it('makes a new connection if the current one gives no answer', async () => {
    const { state, log, kept, opened, pass } = await world();
    state.silent = true;
    await pass(10_000);
    expect(log[0]).toContain('no response within');
    state.silent = false;
    opened[0]!.isOpen = false;
    await pass(10_000);
    expect(kept.isDisconnected).toBe(false);
    expect(kept.current.key).toBe('first');
  });

  it('closes a connection that comes after the time limit', async () => {
    const waiting: ((connection: Fake) => void)[] = [];
    let calls = 0;
    const { state, pass } = await world({
      connect: async () =>
        ++calls === 1 ? { key: 'first', isOpen: true } : new Promise((resolve) => waiting.push(resolve)),
    });
    state.accepted = [];
    await pass(10_000);
    const late = { key: 'first', isOpen: true };
    waiting[0]!(late);
    await vi.waitFor(() => expect(late.isOpen).toBe(false), { timeout: 60_000 });
  });

  it('gives up once, after the time that is set', async () => {
    const { state, gaveUp, pass } = await world({ giveUpAfterMs: 60_000 });
    state.accepted = [];
    for (let probe = 0; probe < 7; probe++) await pass(10_000);
    await pass(10_000);
    expect(gaveUp).toHaveLength(1);
    expect(gaveUp[0]).toMatchObject({ code: 'OUT_OF_REACH', exitCode: 4 });
    expect(gaveUp[0]!.describe()).toContain('has not accepted this worker since 2026-11-26T02:00:10Z');
  });

  it('keeps the earlier connection for calls in flight, and closes it at the end at the latest', async () => {
    const { state, kept, opened, pass } = await world({ closedAfterMs: 60_000 });
    state.file = 'second';
    state.accepted = ['first', 'second'];
    await pass(10_000);
    expect(opened.map(({ isOpen }) => isOpen)).toEqual([true, true]);
    await kept.close();
    expect(opened.map(({ isOpen }) => isOpen)).toEqual([false, false]);
  });

  it('looks again after a check in progress, which may have read the credentials before they changed', async () => {
    let change = (): void => {};
    const { state, used, kept } = await world({
      async connect({ connectionOptions: { apiKey } }) {
        change();
        return { key: String(apiKey), isOpen: true };
      },
    });
    change = () => {
      state.file = 'second';
    };
    state.accepted = ['second'];
    await Promise.all([kept.check(), kept.check()]);
    expect(used.map(({ key }) => key)).toEqual(['second']);
  });

  it('does nothing after it is closed, and runs one check at a time', async () => {
    const { state, opened, kept, pass } = await world();
    state.accepted = [];
    void kept.check();
    expect(kept.check()).toBe(kept.check());
    await kept.close();
    expect(opened.every(({ isOpen }) => !isOpen)).toBe(true);
    const before = opened.length;
    await pass(10_000);
    expect(opened).toHaveLength(before);
  });
});
