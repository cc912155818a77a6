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
