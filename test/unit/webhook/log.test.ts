import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { NoticeLog } from '../../../src/webhook/log.js';

describe('the count of accepted notices', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  function start() {
    const lines: unknown[] = [];
    const log = {
      info: (message: string, fields: object = {}) => void lines.push({ message, ...fields }),
      warn() {},
    };
    return { lines, counter: new NoticeLog(log, Date.now) };
  }

  it('is logged for the first notice, then once a minute, and at the end', () => {
    const { lines, counter } = start();
    counter.accept('acme', ['tasks']);
    expect(lines.splice(0)).toEqual([
      { message: 'accepted 1 notice', connection: 'acme', notices: 1, total: 1, resources: { tasks: 1 } },
    ]);
    for (let at = 0; at < 500; at++) counter.accept('acme', at % 2 === 0 ? ['tasks'] : ['tasks', 'projects']);
    expect(lines).toEqual([]);
    vi.advanceTimersByTime(60_000);
    expect(lines.splice(0)).toMatchObject([
      { message: 'accepted 500 notices', notices: 500, total: 501, resources: { tasks: 500, projects: 250 } },
    ]);
    counter.accept('acme', []);
    counter.close();
    expect(lines.splice(0)).toEqual([
      { message: 'accepted 1 notice', connection: 'acme', notices: 1, total: 502 },
    ]);
    counter.close();
    vi.advanceTimersByTime(600_000);
    expect(lines).toEqual([]);
  });

  it('is kept for each connection, and shows again immediately after a quiet minute', () => {
    const { lines, counter } = start();
    counter.accept('acme', ['tasks']);
    counter.accept('other', ['tasks']);
    expect(lines.splice(0)).toMatchObject([{ connection: 'acme' }, { connection: 'other', total: 1 }]);
    vi.advanceTimersByTime(60_000);
    expect(lines).toEqual([]);
    counter.accept('acme', ['tasks']);
    expect(lines).toMatchObject([{ connection: 'acme', notices: 1, total: 2 }]);
  });
});
