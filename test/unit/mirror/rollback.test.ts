import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { verifyEarlierRuns } from '../../../src/lake/verify/read-runs.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { idOf } from '../../support/mirrored.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';

const DAY = 86_400_000;
const COUNT = 6;

describe('a rollback', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror.close());

  async function start(resource = 'tasks', yaml = resource, connection = ''): Promise<void> {
    mirror = await InProcessMirror.start({
      simulator: { seed: 7, awkward: false, counts: { [resource]: COUNT } },
      ...{ resource, yaml, connection },
    });
  }

  const admin = () => mirror.simulator.admin;
  const ids = (): string[] => admin().records('tasks').map(idOf);
  const rows = async () =>
    new Map((await readSnapshot(mirror.store, 'tasks')).rows.map((row) => [row.id!, row]));

  function pass(days: number): void {
    mirror.clock += days * DAY;
    admin().advance(days * DAY);
  }

  async function night(...[options]: Parameters<InProcessMirror['run']>) {
    pass(1);
    return mirror.run(options);
  }

  async function rollBack(to: RunId) {
    mirror.clock += 60_000;
    return mirror.rollBack(to);
  }

  describe.each([
    ['missing', async (key: Parameters<InProcessMirror['store']['read']>[0]) => mirror.store.remove([key])],
    [
      'damaged',
      async (key: Parameters<InProcessMirror['store']['read']>[0]) => {
        const body = await mirror.store.read(key);
        await mirror.store.write(key, Buffer.from(body.toString().replace('"pages"', '"pagez"')));
      },
    ],
  ])('a rollback with a %s change log', (_, damage) => {
    it('a rollback of the current run finds its target, and verify names the intact runs', async () => {
      await start();
      const { runId: first } = await night();
      admin().update('tasks', ids()[0]!, { title: 'second' });
      const { runId: second } = await night();
      admin().update('tasks', ids()[0]!, { title: 'third' });
      await night();
      const pointer = await readPointer(mirror.store, 'tasks');
      await damage(pointer.changes!);
      const earlier = await verifyEarlierRuns(mirror.store, pointer, { partsAtOnce: 1 });
      expect(earlier.intact).toEqual([second, first]);
      await rollBack(second);
      expect((await rows()).get(ids()[0]!)!.title).toBe('second');
    });
  });

  it('a rollback to masked rows is not said to have read anything, and leaves the shape of other rows known', async () => {
    const masked = '{ name: tasks, columns: { mask: { title: redact } } }';
    await start('tasks', masked);
    const { runId: target } = await night();
    await mirror.configure('tasks');
    const gone = admin().create('tasks', { title: 'never listed again' });
    await night();
    admin().remove('tasks', [gone]);
    const { runId: head } = await night();
    expect((await rows()).get(gone)!.title).toBe('never listed again');
    const { warnings } = await rollBack(target);
    expect(warnings.join('\n')).not.toMatch(/read again|restored/);
    expect((await rows()).get(ids()[0]!)!.title).toBe('[redacted]');
    // To undo it brings the clear values back, but then the settings of these rows are not known.
    await rollBack(head);
    admin().update('tasks', ids()[0]!, { title: 'changed since' });
    const { counts } = await night();
    expect(counts).toMatchObject({ updated: 1, unchanged: COUNT - 1 });
  });

  it('a rollback to masked rows does not hide what it did not change from a later hash', async () => {
    await start('tasks', '{ name: tasks, columns: { mask: { title: redact } } }');
    const { runId: target } = await night();
    await mirror.configure('tasks');
    const added = admin().create('tasks', { title: 'added' });
    await night();
    admin().remove('tasks', [added]);
    await night({ reconcile: true, allowDeletes: true });
    const tombstone = (await rows()).get(added)!;
    expect(tombstone._deleted_at).not.toBeNull();
    await rollBack(target);
    expect((await rows()).get(added)).toEqual(tombstone);
    await mirror.configure('{ name: tasks, columns: { mask: { title: hash } } }');
    await night();
    expect((await rows()).get(added)!.title).toBe(createHash('sha256').update('added').digest('hex'));
  });

  it.each(['mark', 'drop'])(
    'warns of what is not listed any more, whatever changes since, with deletes: %s',
    async (deletes) => {
      await start('tasks', 'tasks', `    deletes: ${deletes}\n`);
      const { runId: first } = await night();
      const [one, two, three] = ids() as [string, string, string];
      admin().update('tasks', one, { title: 'newer' });
      const { runId: second } = await night();
      admin().update('tasks', two, { title: 'newer' });
      const added = admin().create('tasks', { title: 'added' });
      const { runId: head } = await night();
      await rollBack(first);
      // The second rollback changes `one` back, and leaves `two` and `added` as the first one left them.
      await rollBack(second);
      admin().remove('tasks', [two, three, added]);
      await mirror.configure(
        '{ name: tasks, columns: { mask: { title: redact } } }',
        `    deletes: ${deletes}\n`,
      );
      const { warnings } = await night();
      expect(warnings).toContainEqual(
        `rollback: 2 records that 2 rollbacks, the last one to run ${second}, changed are not listed any more and stay as they ` +
          `left them; their newer versions are in run ${head}: worktrack cat tasks --run ${head}`,
      );
    },
  );

  it('a rollback that is undone leaves nothing to warn of', async () => {
    await start();
    const { runId: first } = await night();
    const [one] = ids() as [string];
    admin().update('tasks', one, { title: 'newer' });
    const { runId: head } = await night();
    const back = await rollBack(first);
    expect(back.rolledBackFrom).toBe(head);
    expect(await rollBack(head)).toMatchObject({ rolledBackFrom: back.runId });
    expect((await rows()).get(one)!.title).toBe('newer');
    admin().remove('tasks', [one]);
    expect((await night()).warnings).toEqual([]);
    expect((await readPointer(mirror.store, 'tasks')).rolledBack).toBeNull();
  });

  it('past the window is the reason for the gap', async () => {
    await start('time-entries', '{ name: time-entries, window: 90d }');
    const { runId: first } = await night();
    pass(60);
    await night();
    pass(60);
    await night();
    await rollBack(first);
    const { warnings } = await night();
    const [gap] = warnings.filter((text) => text.startsWith('gap: '));
    expect(gap).toContain(`because run ${first}, the target of a rollback, was longer ago than the window`);
  });
});
