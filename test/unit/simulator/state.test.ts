import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { call, DAY, NOW, start } from './support.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'simulator-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const init = {
  method: 'POST',
  body: '{"startedAt":"2026-11-20T09:00:00Z","durationSeconds":1,"rate":12.50}',
  headers: { 'idempotency-key': 'k' },
};

describe('the state file', () => {
  it('restores writes, deletes, idempotency keys and the seeded dates after a crash', async () => {
    const stateFile = join(folder, 'state');
    const first = await start({ stateFile });
    const made = await (await call(first, 'time-entries', init)).text();
    const body = '{"source":"s","sourceKey":"k"}';
    await call(first, 'calendar-entries', { method: 'POST', body });
    const { id } = JSON.parse(first.admin.records('tasks')[0] as string) as { id: string };
    first.admin.remove('tasks', [id]);
    // What a kill in the middle of a write leaves.
    appendFileSync(stateFile, '{"op":"put","organ');
    const second = await start({ stateFile, now: NOW + DAY });
    for (const resource of ['time-entries', 'calendar-entries', 'tasks']) {
      expect(second.admin.records(resource, 'ever')).toEqual(first.admin.records(resource, 'ever'));
      expect(second.admin.records(resource)).toEqual(first.admin.records(resource));
    }
    expect(await (await call(second, 'time-entries', init)).text()).toBe(made);
    expect((await call(second, 'calendar-entries', { method: 'POST', body })).status).toBe(200);
    const third = await start({ stateFile });
    expect(third.admin.records('calendar-entries')).toEqual(second.admin.records('calendar-entries'));
  });

  it('is rejected if it was created with another seed', async () => {
    const stateFile = join(folder, 'state');
    await start({ stateFile, seed: 1 });
    await expect(start({ stateFile, seed: 2 })).rejects.toThrow('--seed 1');
  });
});
