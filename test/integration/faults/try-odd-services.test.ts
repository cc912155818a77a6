import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseSettings, settingsToPaste } from '../../../src/config/index.js';
import { errorMessage } from '../../../src/core/errors.js';
import { inParallel } from '../../../src/core/in-parallel.js';
import { type Suggestions, tryService } from '../../../src/doctor/index.js';
import { DEMO_KEY, ODD_SERVICES, type Simulator, startSimulator } from '../../../src/simulator/index.js';
import { ActivityMirror } from '../../support/in-process-mirror.js';
import { ODD_CASES, type OddCase } from '../../support/odd/index.js';
import { assertRowEquals } from '../../support/oracle.js';
import { drawn } from '../../support/seeds.js';
import { readSnapshot } from '../../support/snapshot.js';

/** What the doctor proposes for an odd service, and what the next export makes of the proposed settings. */
interface Proposal {
  readonly sync?: Suggestions['sync'];
  /** Default: the field with the time of the changes that the doctor has seen. */
  readonly tasks?: object;
  /** Whether the doctor may see `updatedAt` move, or not: the service hides some of the records that change. */
  readonly isTimed?: 'maybe';
  /** Live rows of the lake. Default: the live records of the service, value for value. */
  readonly rows?: number;
  /** A warning, which counts the difference where the lake has not all of the service's records or others. */
  readonly warns?: RegExp;
  /** Its failure: no setting helps. */
  readonly fails?: RegExp;
}

const TIMED = { updatedAt: 'updatedAt' };

const PROPOSALS: Readonly<Record<string, Proposal>> = {
  'announced-end': { warns: /it ends on 2027-12-31/ },
  'archived-records': { tasks: { updatedAt: 'updatedAt', fetchById: true } },
  'by-id-200': { tasks: { updatedAt: 'updatedAt', fetchById: false } },
  'by-id-403': { tasks: { updatedAt: 'updatedAt', fetchById: false } },
  'by-id-404': { tasks: { updatedAt: 'updatedAt', fetchById: false } },
  'by-id-deleted': { tasks: { updatedAt: 'updatedAt', deleted: { field: 'deletedAt' }, fetchById: true } },
  'by-id-deleted-short': { tasks: { deleted: { field: 'deleted' }, fetchById: true } },
  'challenge-forever': { tasks: {}, fails: /challenge or block page/ },
  'challenge-page': { tasks: {} },
  'control-characters': { fails: /set `json: lenient`/ },
  'cursor-ignored': { tasks: {}, fails: /the service seems to ignore `cursor`/ },
  'cursors-end-early': { tasks: {}, fails: /cursors seem to live shorter than the list takes/ },
  'dates-day-month-year': { rows: 15 },
  'dates-epoch-milliseconds': { tasks: { updatedAt: 'updatedAt', windowField: 'day' }, rows: 12 },
  'dates-epoch-seconds': { tasks: { updatedAt: 'updatedAt', windowField: 'day' }, rows: 12 },
  'dates-of-weeks': { tasks: { updatedAt: 'updatedAt', windowField: 'day' }, rows: 12 },
  'dates-with-offset': { tasks: { updatedAt: 'updatedAt', windowField: 'day' }, rows: 12 },
  'dates-without-zone': { tasks: { updatedAt: 'updatedAt', windowField: 'day' }, rows: 12 },
  'empty-object': { tasks: {}, fails: /the envelope has no "data"/ },
  'endless-empty-pages': { tasks: {}, fails: /the list does not end/ },
  'endless-last-page': { tasks: {}, fails: /the list does not end/ },
  'endless-list': { tasks: {}, fails: /the list does not end/ },
  'endless-one-record': { tasks: {}, fails: /the list does not end/ },
  'error-in-200': { tasks: {}, fails: /its body reports an error/ },
  'failed-shards': { tasks: {}, warns: /the list is incomplete/ },
  'forbidden-address': { tasks: {}, fails: /not on the allow list/ },
  'forbidden-sign-on': { tasks: {}, fails: /Single sign-on/ },
  'forbidden-suspended': { tasks: {}, fails: /Your account is suspended/ },
  'forbidden-terms': { tasks: {}, fails: /new terms/ },
  'gateway-header': { tasks: {}, fails: /challenge or block page/ },
  'head-blank-name': { tasks: {}, fails: /the response breaks HTTP/ },
  'head-two-lengths': { tasks: {}, fails: /the response breaks HTTP/ },
  'heavy-500': { sync: { pageSize: 200 } },
  'heavy-502': { sync: { pageSize: 200 } },
  'heavy-504': { sync: { pageSize: 200 } },
  'heavy-close': { sync: { pageSize: 200 } },
  'heavy-cut': { sync: { pageSize: 200 } },
  'heavy-timeout': { sync: { pageSize: 200 } },
  'hidden-records': { tasks: { fetchById: true }, isTimed: 'maybe', warns: /confirmed neither/ },
  'huge-cursor': { tasks: {}, fails: /at most 65536 can be sent back/ },
  'incomplete-in-words': { tasks: {}, warns: /the list is incomplete/ },
  'incomplete-results': { tasks: {}, warns: /the list is incomplete/ },
  'increment-404': { fails: /answered 404/ },
  'key-replaced': { tasks: {}, fails: /The API key is not known/ },
  'last-page-0': { sync: { endCursors: ['0'] }, tasks: {} },
  'last-page-end': { sync: { endCursors: ['end'] }, tasks: {} },
  'length-in-characters': { tasks: {}, fails: /longer than its Content-Length/ },
  'limit-401-retry-after': { tasks: {} },
  'limit-402-quota': { tasks: {} },
  'limit-403-forever': { tasks: {}, fails: /Daily quota exceeded/ },
  'limit-403-headers': { tasks: {} },
  'limit-403-retry-after': { tasks: {} },
  'limit-403-words': { tasks: {} },
  'limit-420': { tasks: {} },
  'limit-429-reset-ms': { tasks: {} },
  'limit-429-reset-seconds': { tasks: {} },
  'list-cut': { warns: /has 30 records, but only 20/ },
  'list-cut-400': { tasks: {}, fails: /has 30 records, but only 20/ },
  'list-cut-header': { warns: /has 30 records, but only 20/ },
  'list-ended-410': { tasks: {}, fails: /has ended the list/ },
  'lists-become-empty': { tasks: {}, warns: /the list is empty, but 10 rows/ },
  'marked-deletes': { tasks: { updatedAt: 'updatedAt', deleted: { field: 'deletedAt' } }, rows: 29 },
  'moved-records': { tasks: { updatedAt: 'updatedAt', fetchById: true, windowField: 'day' } },
  'not-a-number': { fails: /set `json: lenient`/ },
  'null-data-always': { tasks: {}, fails: /"data" is null/ },
  'null-records': { tasks: { badRecords: 'quarantine' }, warns: /without a key written to _quarantine/ },
  'partial-206': { tasks: {}, warns: /the list is incomplete/ },
  'plain-403': { tasks: {}, fails: /lack a grant/ },
  'poison-record': { tasks: {}, fails: /What is behind it cannot be reached/ },
  'redirect-elsewhere': { tasks: {}, fails: /a redirect to login.example/ },
  'repeated-ids': { tasks: { key: ['projectId', 'id'] }, rows: 30 },
  'retry-after-years': { tasks: {}, fails: /requires a wait of 1000d/ },
  'tombstones-in-increments': { tasks: { updatedAt: 'updatedAt', deleted: { field: 'deleted' } } },
};

/** The settings of `tasks` before the trial, where they are not the default. */
const STARTS: Readonly<Record<string, string>> = Object.fromEntries(
  ['by-id-404', 'by-id-200', 'by-id-403'].map((name) => [name, '{ name: tasks, fetchById: true }']),
);

/** One for each kind of setting that the doctor proposes, one where it proposes none, and two whose failure no setting helps. */
const KINDS = [
  ...[
    'archived-records',
    'by-id-deleted',
    'dates-without-zone',
    'heavy-502',
    'last-page-end',
    'null-records',
  ],
  ...['repeated-ids', 'empty-204', 'list-cut', 'plain-403'],
];
const SERVICES = drawn(ODD_SERVICES, 16, ({ name }) => KINDS.includes(name));

/** Services that this many at a time are tried. */
const AT_ONCE = 12;

class TriedMirror extends ActivityMirror {
  /** Uses another configuration from the next run on. */
  configure(text: string): Promise<void> {
    return this.use(parseSettings(text, 'worktrack.yaml'));
  }
}

/** What came of one service. */
interface Tried {
  readonly suggestions: Suggestions;
  /** What the export with the proposed settings said: its failure, or its warnings. */
  readonly said: string;
  /** Live rows of the lake. */
  readonly live: number;
  /** How the rows of the lake differ from the live records of the service; `null`: they do not. */
  readonly differs: string | null;
}

describe('doctor --try-service on an odd service', () => {
  let folder: string;
  const tried = new Map<string, Tried>();

  beforeAll(async () => {
    process.env.WORKTRACK_API_KEY = DEMO_KEY;
    folder = await mkdtemp(join(tmpdir(), 'worktrack-tried-'));
    await inParallel(SERVICES, AT_ONCE, async ({ name }) => {
      const first = ODD_CASES.find(({ odd }) => odd[0] === name)!;
      tried.set(name, await tryOne(join(folder, name), first));
    });
  }, 600_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each(SERVICES.map(({ name }) => name))(
    'proposes settings with which the next export is right: %s',
    (name) => {
      const { sync = {}, tasks = TIMED, isTimed, rows, warns, fails } = PROPOSALS[name] ?? {};
      const { suggestions, said, live, differs } = tried.get(name)!;
      const resources = Object.keys(tasks).length === 0 ? {} : { tasks };
      const wanted = { sync, resources };
      const timed = { sync, resources: { tasks: { ...tasks, ...TIMED } } };
      if (isTimed === 'maybe') expect([wanted, timed], said).toContainEqual(suggestions);
      else expect(suggestions, said).toEqual(wanted);
      if (fails === undefined) expect(said).not.toMatch(/^FAILED/);
      else expect(said).toMatch(new RegExp(`^FAILED .*${fails.source}`, 's'));
      if (warns !== undefined) expect(said).toMatch(warns);
      if (rows !== undefined) expect(live).toBe(rows);
      else if (warns === undefined && fails === undefined) expect(differs, said).toBeNull();
    },
  );
});

async function tryOne(folder: string, { odd, simulator, resources, yaml }: OddCase): Promise<Tried> {
  const service = await startSimulator({ counts: { tasks: 30 }, awkward: false, ...simulator, odd });
  const isWindowed = resources?.includes('window: 90d') === true;
  const resource = STARTS[odd[0]!] ?? (isWindowed ? '{ name: tasks, window: 90d }' : 'tasks');
  if (isWindowed) for (let ago = 80; ago > 8; ago -= 6) create(service, ago);
  const retries = yaml?.includes('retries:') ? '' : '    retries: { giveUpAfter: 20s }\n';
  const text = `connections:
  acme:
    baseUrl: ${service.url}
    apiKey: { env: WORKTRACK_API_KEY }
    lake: { url: "${pathToFileURL(join(folder, 'lake')).href}" }
    resources: [${resource}]
${yaml ?? '    sync: { pageSize: 10 }\n'}${retries}`;
  const mirror = new TriedMirror(parseSettings(text, 'worktrack.yaml'), 'tasks');
  try {
    await mirror.run().catch(() => {});
    for (let round = 0; round < 2; round++) {
      change(service, round);
      await mirror.run().catch(() => {});
    }
    change(service, 2);
    const { suggestions } = await tryService(mirror.settings, 5_000);
    return { suggestions, ...(await exportWith(mirror, service, text, suggestions)) };
  } finally {
    await mirror.close();
    await service.close();
  }
}

/** A record from so many days ago. */
function create({ admin }: Simulator, ago: number): void {
  const day = new Date(admin.now() - ago * 86_400_000).toISOString();
  admin.create('tasks', { projectId: 'p-new', title: 'New', note: 'Tab\there', hours: null, day });
}

/** Four records change, one is new, and one is deleted. */
function change(service: Simulator, round: number): void {
  const { admin } = service;
  const records = admin.records('tasks').map((text) => JSON.parse(text) as { id: string; day?: string });
  const ids = records.map(({ id }) => id);
  for (const id of ids.slice(round, round + 4)) admin.update('tasks', id, { title: `Geändert ${round}` });
  create(service, 10);
  // The dates near the edge of a window show that they are its dates.
  const isOld = (day = ''): boolean => Date.parse(day) < admin.now() - 60 * 86_400_000;
  const gone = records.slice(5).find(({ day }) => !isOld(day));
  if (gone !== undefined) admin.remove('tasks', [gone.id]);
}

/** A reconcile with the proposed settings, pasted as a person does. Another key needs another lake. */
async function exportWith(
  mirror: TriedMirror,
  { admin }: Simulator,
  text: string,
  { sync, resources }: Suggestions,
): Promise<Omit<Tried, 'suggestions'>> {
  const pasted = settingsToPaste(text, 'acme', { sync, resources } as Parameters<typeof settingsToPaste>[2]);
  const replaced = new Set([...pasted.matchAll(/^ {4}(\w+):/gm)].map(([, key]) => key));
  const kept = text.split('\n').filter((line) => !replaced.has(/^ {4}(\w+):/.exec(line)?.[1] ?? ''));
  const all = `${kept.join('\n')}\n${pasted}`;
  const hasOtherKey = resources.tasks?.key !== undefined;
  if (hasOtherKey) Object.assign(mirror, { published: null, checkpoint: null });
  await mirror.configure(hasOtherKey ? all.replace('/lake"', '/lake-2"') : all);
  const failure = await mirror.run({ reconcile: true }).then(
    ({ warnings }) => warnings.join('\n'),
    (error: unknown) => `FAILED ${errorMessage(error)}`,
  );
  const snapshot = await readSnapshot(mirror.store, 'tasks').catch(() => null);
  const live = snapshot?.rows.filter((row) => row._deleted_at === null) ?? [];
  return { said: failure, live: live.length, differs: differenceOf(live, admin.records('tasks')) };
}

function differenceOf(
  rows: readonly Record<string, string | null>[],
  records: readonly string[],
): string | null {
  if (rows.length !== records.length) return `${rows.length} rows, ${records.length} records`;
  const byId = new Map(records.map((text) => [JSON.parse(text).id as string, text]));
  for (const row of rows)
    try {
      const text = byId.get(row.id!);
      if (text === undefined) return `row ${row.id} is no record`;
      assertRowEquals(row, text);
    } catch (error) {
      return errorMessage(error).slice(0, 200);
    }
  return null;
}
