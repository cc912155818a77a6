import { afterEach, expect, it } from 'vitest';
import { InProcessMirror } from '../../support/in-process-mirror.js';

let mirror: InProcessMirror;
afterEach(() => mirror.close());

it('a check of the rows that a run reads needs no other check', async () => {
  mirror = await InProcessMirror.start({
    simulator: { counts: { tasks: 30 } },
    ...{ resource: 'tasks', yaml: '{ name: tasks, checks: [{ rows: { max: 10 }, of: run }] }' },
  });
  await expect(mirror.run()).rejects.toThrow('30');
});

it.each([true, false])(
  'a check that stops a run names it as `history` does; in memory: %s',
  async (inMemory) => {
    mirror = await InProcessMirror.start({
      simulator: { counts: { tasks: 30 } },
      ...{ resource: 'tasks', yaml: '{ name: tasks, checks: [{ rows: { max: 10 } }] }' },
    });
    await expect(mirror.run({ inMemory })).rejects.toThrow('a check failed');
    const { runId, error } = mirror.mirror.state.lastRun!;
    expect(error?.message).toContain(`so run ${runId} was not published`);
  },
);
