import { describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import { type ListedRun, readKnownRuns } from '../../../src/lake/published/chain.js';
import {
  type KnownRuns,
  needsMore,
  planSweep,
  type Recorded,
  removalOrder,
  type SweepFacts,
  toRunFolders,
  toStagedFolders,
  unknownComplete,
} from '../../../src/lake/published/sweep-plan.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.parse('2026-11-21T02:00:00Z');
const at = (hoursAgo: number): number => NOW - hoursAgo * HOUR;

/** The id of a run that began so many hours ago. */
function id(hoursAgo: number, digits = '00000000'): RunId {
  return `${new Date(at(hoursAgo)).toISOString().replace(/[-:]|\.\d+/g, '')}-${digits}` as RunId;
}

interface Written {
  readonly run: RunId;
  readonly hoursAgo: number;
  readonly tree?: 'snapshots' | 'changes';
  readonly names?: readonly string[];
}

const COMPLETE = ['part-00000-aaaaaaaa.csv.gz', '_datapackage.json'];
const INCOMPLETE = COMPLETE.slice(0, 1);

/** What a sweep by the run of an hour ago removes, as tree and run. */
function swept(
  written: readonly Written[],
  {
    published = [],
    staged = [],
    recorded = [],
    isWhole = true,
    ...rest
  }: Partial<Pick<SweepFacts, 'before' | 'replaced' | 'keep'>> & {
    published?: readonly RunId[];
    staged?: readonly string[];
    recorded?: readonly (readonly [RunId, Recorded])[];
    isWhole?: boolean;
  } = {},
) {
  const head = id(1);
  const objects = [{ run: head, hoursAgo: 1, names: COMPLETE }, ...written].flatMap(
    ({ run, hoursAgo, tree = 'changes', names = COMPLETE }: Written) =>
      names.map((name) => ({
        key: `tasks/${tree}/dt=2026-11-20/run=${run}/${name}` as ObjectKey,
        bytes: 1,
        modifiedAt: at(hoursAgo),
      })),
  );
  const stagedObjects = staged.map((name) => ({
    key: `_staging/tasks/${name}` as ObjectKey,
    bytes: 1,
    modifiedAt: at(30),
  }));
  const known: KnownRuns = {
    published: new Map([head, ...published].map((run) => [run, runTime(run)])),
    isWhole,
  };
  const input: SweepFacts = {
    ...{ head, known, keep: [], replaced: [], before: null, now: NOW },
    folders: toRunFolders('tasks', objects),
    staged: toStagedFolders('_staging/tasks/', stagedObjects),
    settings: { snapshotsMs: 90 * DAY, keepPerDay: 'last' },
    recorded: new Map(
      recorded.flatMap(([run, facts]) =>
        (['changes', 'snapshots'] as const).map(
          (tree) => [`tasks/${tree}/dt=2026-11-20/run=${run}/_datapackage.json` as ObjectKey, facts] as const,
        ),
      ),
    ),
    ...rest,
  };
  const plan = planSweep(input);
  return {
    gone: plan.folders.map(({ tree, runId }) => `${tree} ${runId}`),
    staged: plan.staged.map(({ name }) => name),
    suspects: plan.suspects.map(({ runId }) => runId),
    toRead: unknownComplete(input),
    needsMore: needsMore(input),
  };
}

function runTime(run: RunId): number {
  const [, y, mo, d, h, mi, s] = /(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)/.exec(run)!.map(Number);
  return Date.UTC(y!, mo! - 1, d, h, mi, s);
}

const FIRST = id(100);
const FAILED = id(20);
const [SECOND, THIRD, FOURTH] = [id(80), id(60), id(40)];
const on = (...previousRuns: RunId[]): Recorded => ({ publishedAt: at(20), isOwn: false, previousRuns });

describe('a sweep', () => {
  it('removes an incomplete folder of an unpublished run, but not one that was written since the head began', () => {
    const early = { run: FAILED, hoursAgo: 20, names: INCOMPLETE };
    const late = { run: id(0.5), hoursAgo: 0.5, names: INCOMPLETE };
    const first = { run: FIRST, hoursAgo: 100 };
    expect(swept([first, early, late], { published: [FIRST] }).gone).toEqual([`changes ${FAILED}`]);
    // The same second says nothing about the order.
    const same = { run: FAILED, hoursAgo: 1, names: INCOMPLETE };
    expect(swept([first, same], { published: [FIRST] }).gone).toEqual([]);
  });

  it('removes a complete folder of a failed run, which looks like a published one', () => {
    const folders = [
      { run: FIRST, hoursAgo: 100 },
      { run: FAILED, hoursAgo: 20 },
    ];
    const recorded = [[FAILED, { publishedAt: at(20), isOwn: false, previousRuns: [FIRST] }]] as const;
    const { gone, toRead } = swept(folders, { published: [FIRST], recorded });
    expect(toRead).toEqual([expect.stringContaining(FAILED)]);
    expect(gone).toEqual([`changes ${FAILED}`]);
    // Its manifest could not be read.
    expect(swept(folders, { published: [FIRST] }).gone).toEqual([]);
  });

  it('keeps folders that are older than the chain, as after latest.json was lost', () => {
    const old = id(300);
    const folders = [
      { run: FIRST, hoursAgo: 100 },
      { run: old, hoursAgo: 300 },
      { run: id(301), hoursAgo: 301, names: INCOMPLETE },
    ];
    const recorded = [[old, { publishedAt: at(300), isOwn: true, previousRuns: [] }]] as const;
    expect(swept(folders, { published: [FIRST], recorded }).gone).toEqual([]);
    // The staging folder shows that the run did not end; another mirror may have lost it after its swap.
    const staged = [`${old}/run.json`, `${id(301)}/run.json`];
    const removed = [`changes ${old}`, `changes ${id(301)}`];
    expect(swept(folders, { published: [FIRST], recorded, staged }).gone).toEqual(removed);
    const other = [[old, { publishedAt: at(300), isOwn: false, previousRuns: [] }]] as const;
    const { gone } = swept(folders, { published: [FIRST], recorded: other, staged });
    expect(gone).toEqual(removed.slice(1));
  });

  it.each<{ what: string; recorded: [RunId, Recorded][]; replaced?: RunId[]; gone: RunId[] }>([
    {
      what: 'keeps the runs after a restored latest.json, if a later run was based on them',
      recorded: [
        [SECOND, on(FIRST)],
        [THIRD, on(SECOND, FIRST)],
        [FOURTH, on(THIRD, SECOND, FIRST)],
      ],
      gone: [],
    },
    {
      what: 'keeps the runs after a restored latest.json, even if only the last manifest is left',
      recorded: [[FOURTH, on(THIRD, SECOND, FIRST)]],
      gone: [],
    },
    {
      what: 'removes a failed run that was based on the chain, and keeps what was published after a restored latest.json',
      recorded: [
        [SECOND, on(FIRST)],
        [THIRD, on(SECOND, FIRST)],
        [FOURTH, on(FIRST)],
      ],
      gone: [FOURTH],
    },
    {
      what: 'removes a run that is known to have failed, but not the one that it was based on',
      recorded: [
        [SECOND, on(FIRST)],
        [THIRD, on(FIRST)],
        [FOURTH, on(THIRD, FIRST)],
      ],
      replaced: [FOURTH],
      gone: [SECOND, FOURTH],
    },
    {
      what: 'keeps a run that another one was based on, although a request of the same second has ended',
      recorded: [
        [SECOND, on(FIRST)],
        [THIRD, on(SECOND, FIRST)],
        [FOURTH, on(THIRD, SECOND, FIRST)],
      ],
      replaced: [THIRD],
      gone: [],
    },
  ])('$what', ({ recorded, replaced = [], gone }) => {
    const folders = [FIRST, SECOND, THIRD, FOURTH].flatMap((run) =>
      (['snapshots', 'changes'] as const).map((tree) => ({ run, hoursAgo: runAge(run), tree })),
    );
    const found = swept(folders, { published: [FIRST], recorded, replaced }).gone;
    expect(found).toEqual(gone.flatMap((run) => [`snapshots ${run}`, `changes ${run}`]));
  });

  it('removes nothing of unknown runs while the chain cannot be read to its end', () => {
    const folders = [
      { run: FIRST, hoursAgo: 100 },
      { run: FAILED, hoursAgo: 20 },
      { run: id(21), hoursAgo: 21, names: INCOMPLETE },
    ];
    const recorded = [[FAILED, { publishedAt: at(20), isOwn: true, previousRuns: [FIRST] }]] as const;
    const { gone, needsMore } = swept(folders, { published: [FIRST], recorded, isWhole: false });
    expect(gone).toEqual([]);
    expect(needsMore).toBe(true);
  });

  it('removes the earlier attempts of the head, whenever they were written', () => {
    const attempt = id(1, '00000001');
    const folders = [{ run: attempt, hoursAgo: 0.9 }];
    expect(swept(folders).gone).toEqual([]);
    expect(swept(folders, { replaced: [attempt] }).gone).toEqual([`changes ${attempt}`]);
  });

  it('removes the staging folders of published runs, and of runs that can never be published', () => {
    const staged = [`${id(1)}/run.json`, `${FAILED}/chunk-0`, 'something/else', `${id(0.5)}/run.json`];
    expect(swept([], { staged }).staged).toEqual([id(1), FAILED, 'something', id(0.5)]);
  });

  it('a sweep after a purge removes what late requests of earlier runs left, whenever it was written', () => {
    const folders = [
      { run: FIRST, hoursAgo: 100 },
      { run: FAILED, hoursAgo: 0.2, names: INCOMPLETE },
      { run: id(0.6), hoursAgo: 0.5, names: INCOMPLETE },
      // The manifest of a published change log was lost since: it can be restored.
      { run: id(60), hoursAgo: 0.3, names: INCOMPLETE },
    ];
    const published = [FIRST, id(60)];
    expect(swept(folders, { published }).gone).toEqual([]);
    const { gone, suspects } = swept(folders, { published, before: id(0.8) });
    expect(gone).toEqual([`changes ${FAILED}`]);
    expect(suspects).toEqual([id(1), FIRST]);
  });

  it.each([
    ['a second part of the same number', [...COMPLETE, 'part-00000-bbbbbbbb.csv.gz']],
    ['a second index', [...COMPLETE, '_part-00001-a.index.json', '_part-00001-b.index.json']],
  ])('looks at the manifest of a folder that has %s', (_, names) => {
    const folders = [
      { run: FIRST, hoursAgo: 100, names },
      { run: id(90), hoursAgo: 90 },
    ];
    expect(swept(folders, { published: [FIRST, id(90)] }).suspects).toEqual([FIRST]);
  });

  it('looks at the manifest of a folder with a part that was written after it, but not with a later object of another kind', () => {
    const folders = [
      { run: FIRST, hoursAgo: 100 },
      { run: FIRST, hoursAgo: 99, names: ['part-00009-aaaaaaaa.csv.gz'] },
      { run: id(90), hoursAgo: 90 },
      { run: id(90), hoursAgo: 89, names: ['_other-0.bin'] },
    ];
    expect(swept(folders, { published: [FIRST, id(90)] }).suspects).toEqual([FIRST]);
  });

  it('removes snapshots by the retention rule, but none that a rollback needs', () => {
    const old = [id(2400), id(2300)];
    const folders = old.map((run) => ({ run, hoursAgo: runAge(run), tree: 'snapshots' as const }));
    const published = [...old, id(30)];
    expect(swept(folders, { published }).gone).toEqual(old.map((run) => `snapshots ${run}`));
    expect(swept(folders, { published, keep: [old[0]!] }).gone).toEqual([`snapshots ${old[1]}`]);
  });

  it('reads the chain further only for runs that it has to decide about', () => {
    const known = { published: [FIRST], isWhole: false };
    const first = { run: FIRST, hoursAgo: 100 };
    expect(swept([first, { run: id(200), hoursAgo: 200 }], known).needsMore).toBe(false);
    expect(swept([first, { run: FAILED, hoursAgo: 20 }], known).needsMore).toBe(true);
    const snapshot = { run: id(200), hoursAgo: 200, tree: 'snapshots' } as const;
    expect(swept([first, snapshot], known).needsMore).toBe(true);
    const begun = { ...known, staged: [`${id(200)}/run.json`] };
    expect(swept([first, { run: id(200), hoursAgo: 200 }], begun).needsMore).toBe(true);
    expect(swept([first, { run: id(200), hoursAgo: 200 }], { ...known, before: id(0.1) }).needsMore).toBe(
      true,
    );
  });

  it('ignores what is not in the folder of a run, and removes manifests first', () => {
    const run = id(20);
    const keys = [
      `tasks/changes/dt=2026-11-20/run=${run}/part-00000-a.csv`,
      `tasks/changes/dt=2026-11-20/run=${run}/_datapackage.json`,
      `tasks/changes/dt=2026-11-20/run=${run}/deeper/part-00000-a.csv`,
      'tasks/changes/dt=2026-11-20/run=mine/part-00000-a.csv',
      'tasks/changes/notes.txt',
      'tasks/latest.json',
      `other/changes/dt=2026-11-20/run=${run}/part-00000-a.csv`,
    ].map((key) => ({ key: key as ObjectKey, bytes: 1, modifiedAt: NOW }));
    const folders = toRunFolders('tasks', keys);
    expect(folders).toMatchObject([{ tree: 'changes', date: '2026-11-20', runId: run, newest: NOW }]);
    expect(removalOrder({ folders, staged: [] })).toEqual({
      manifests: [keys[1]!.key],
      rest: [keys[0]!.key],
    });
  });
});

function runAge(run: RunId): number {
  return (NOW - runTime(run)) / HOUR;
}

describe('the published runs', () => {
  const LISTED = 3;
  const name = (n: number): RunId => id(1000 - n);

  /** A chain of runs 0, 1, ...; `lost`: numbers of runs without a manifest. */
  function chain(
    length: number,
    { lost = [], left = {} }: { lost?: readonly number[]; left?: Record<number, RunId[]> } = {},
  ) {
    const listed = Array.from({ length }, (_, n): ListedRun => {
      const previous = Array.from({ length: Math.min(n, LISTED) }, (__, back) => n - 1 - back);
      return {
        ...{ runId: name(n), publishedAt: n, leftBehind: left[n] ?? [] },
        previousRuns: previous.map((one) => ({ runId: name(one), publishedAt: one })),
      };
    });
    const reads: RunId[] = [];
    const read = async (run: RunId): Promise<ListedRun | null> => {
      reads.push(run);
      const n = listed.findIndex(({ runId }) => runId === run);
      return n < 0 || lost.includes(n) ? null : listed[n]!;
    };
    return { head: listed.at(-1)!, read, reads };
  }

  async function all({ head, read }: Pick<ReturnType<typeof chain>, 'head' | 'read'>): Promise<KnownRuns> {
    let last: KnownRuns | null = null;
    for await (const known of readKnownRuns(head, read, LISTED)) last = known;
    return last!;
  }

  it('are read with one request for each list, and not at all if the head lists them', async () => {
    const short = chain(3);
    expect(await all(short)).toMatchObject({ isWhole: true });
    expect(short.reads).toEqual([]);
    const long = chain(11);
    const { published, isWhole } = await all(long);
    expect([published.size, isWhole]).toEqual([11, true]);
    expect(long.reads).toEqual([name(7), name(4), name(1)]);
  });

  it('are found although manifests are lost, as long as one of each list is left', async () => {
    expect((await all(chain(11, { lost: [7, 6, 4] }))).published.size).toBe(11);
    const broken = await all(chain(11, { lost: [7, 8, 9] }));
    expect([broken.published.size, broken.isWhole]).toEqual([4, false]);
  });

  it('include the chains that were left behind, also by runs that were left behind', async () => {
    const old = chain(5);
    const middle = { runId: id(3), publishedAt: 90, previousRuns: [], leftBehind: [name(4)] };
    const head = { runId: id(1), publishedAt: 99, previousRuns: [], leftBehind: [middle.runId] };
    const read = async (run: RunId): Promise<ListedRun | null> =>
      run === middle.runId ? middle : old.read(run);
    const { published, isWhole } = await all({ head, read });
    expect([published.size, isWhole]).toEqual([7, true]);
    const lost = await all({ head, read: async () => null });
    expect([lost.published.size, lost.isWhole]).toEqual([2, false]);
  });
});
