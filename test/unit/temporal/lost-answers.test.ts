import { ScheduleAlreadyRunning, ScheduleNotFoundError, type ScheduleOptions } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import type { RepeatCall, TemporalClient } from '../../../src/temporal/client/connect.js';
import { createOrUpdate } from '../../../src/temporal/schedule/create-or-update.js';
import { deleteSchedule } from '../../../src/temporal/schedule/schedule.js';

const ID = 'worktrack/acme/nightly';
const LOST = new Error('the answer was lost');
/** Repeats a call until its answer arrives. */
const repeat: RepeatCall = (call) =>
  call().catch((error: unknown) => (error === LOST ? repeat(call) : Promise.reject(error)));

const optionsAt = (cron: string) =>
  ({
    scheduleId: ID,
    spec: { calendars: [{ comment: cron }] },
    action: { type: 'startWorkflow', workflowType: 'exportWorkflow', taskQueue: 'worktrack' },
    policies: { catchupWindow: 1 },
  }) as unknown as ScheduleOptions;

/** A server that loses its answer to the first call of each kind named in `loses`, after it did what was asked. */
function serverWith(schedules: Map<string, object>, ...loses: readonly string[]) {
  const lost = new Set(loses);
  async function answer<T>(kind: string, work: () => T): Promise<T> {
    const result = work();
    if (lost.delete(kind)) throw LOST;
    return result;
  }
  const stored = (id: string) => {
    const found = schedules.get(id);
    if (found === undefined) throw new ScheduleNotFoundError('there is none', id);
    return found;
  };
  const getHandle = (id: string) => ({
    describe: () => answer('describe', () => stored(id)),
    update: (change: (before: object) => object) =>
      answer('update', () => schedules.set(id, change(stored(id)))),
    delete: () => answer(`delete ${id}`, () => schedules.delete(stored(id) && id)),
  });
  const create = (options: ScheduleOptions) =>
    answer('create', () => {
      if (schedules.has(options.scheduleId))
        throw new ScheduleAlreadyRunning('it exists', options.scheduleId);
      schedules.set(options.scheduleId, options);
      return getHandle(options.scheduleId);
    });
  return { client: { schedule: { create, getHandle } } } as unknown as TemporalClient;
}

describe('a Schedule, after answers of the server were lost', () => {
  it.each(['create', 'describe'])('is reported as created: %s', async (kind) => {
    const schedules = new Map<string, object>();
    const { outcome } = await createOrUpdate(serverWith(schedules, kind), optionsAt('0 2 * * *'), repeat);
    expect([outcome, schedules.size]).toEqual(['created', 1]);
  });

  it.each(['update', 'describe'])('is reported with its change: %s', async (kind) => {
    const temporal = serverWith(new Map([[ID, optionsAt('0 2 * * *')]]), kind);
    const { outcome, changes } = await createOrUpdate(temporal, optionsAt('30 4 * * *'), repeat);
    expect([outcome, changes]).toEqual([
      'updated',
      [{ setting: 'cron', before: '0 2 * * *', after: '30 4 * * *' }],
    ]);
  });

  it('is deleted, and only one that never was is missing', async () => {
    const schedules = new Map([[ID, optionsAt('0 2 * * *')]]);
    const temporal = serverWith(schedules, `delete ${ID}`);
    await deleteSchedule(temporal, 'acme', repeat);
    expect(schedules.size).toBe(0);
    await expect(deleteSchedule(temporal, 'acme', repeat)).rejects.toThrow(ScheduleNotFoundError);
  });
});
