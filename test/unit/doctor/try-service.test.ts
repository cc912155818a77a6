import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { runConfigCheck } from '../../../src/cli/setup/config-command.js';
import { parseSettings, settingsToPaste } from '../../../src/config/index.js';
import { runChecks, type ServiceTrial, tryService } from '../../../src/doctor/index.js';
import {
  DEMO_KEY,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from '../../../src/simulator/index.js';

const RESOURCES = '[projects, tasks, time-entries, calendar-entries]';

/** One interpretation of what the API leaves open, and what the doctor must find out about it. */
interface Interpretation {
  readonly title: string;
  readonly simulator?: SimulatorOptions;
  /** Default: `tasks`. */
  readonly resources?: string;
  /** More keys of the connection. */
  readonly yaml?: string;
  /** Messages of findings, as `check: message`. */
  readonly finds: readonly RegExp[];
  /** Default: nothing needs to change. */
  readonly settings?: { readonly sync?: object; readonly resources?: object };
}

const INTERPRETATIONS: readonly Interpretation[] = [
  {
    title: 'the simulator as it is, with its four default resources',
    resources: RESOURCES,
    finds: [
      /page size: tasks: the service accepts pages of 1000 records and reduces larger ones/,
      /cursor: time-entries: `cursor` continues the list/,
      /updatedSince: tasks: .*honoured and read as UTC \(compared with "updatedAt"\)/,
      /fetch by id: projects: GET by id finds a listed record, and no other/,
      /fetch by id: tasks: not used, and the service does not offer it/,
      /deletes: projects: proven by 404 or 410/,
      /deletes: tasks: concluded from two complete readings/,
      /window: time-entries: "startedAt" seems to date the window/,
    ],
    settings: {
      resources: {
        'time-entries': { windowField: 'startedAt' },
        'calendar-entries': { windowField: 'startsAt' },
      },
    },
  },
  {
    title: 'a last page that is marked by a word',
    simulator: { counts: { tasks: 2500 }, odd: ['last-page-end'] },
    finds: [/cursor: tasks: the list begins again after the cursor "end"/],
    settings: { sync: { endCursors: ['end'] } },
  },
  {
    title: 'null among the records',
    simulator: { odd: ['null-records'] },
    finds: [/list: tasks: the list has elements that are no objects/],
    settings: { resources: { tasks: { badRecords: 'quarantine' } } },
  },
  {
    title: 'ids that are not unique',
    simulator: { odd: ['repeated-ids'] },
    finds: [/list: tasks: different records have the same key \(id\)/],
    settings: { resources: { tasks: { key: ['projectId', 'id'] } } },
  },
  {
    title: 'a list that says that it is incomplete',
    simulator: { odd: ['failed-shards'] },
    finds: [/list: tasks: the list is incomplete \("_shards": \{ "failed": 1 \}\)/],
  },
  {
    title: 'a list that is cut',
    simulator: { counts: { tasks: 2500 }, odd: ['list-cut'] },
    finds: [/list: tasks: the service says that the list has 2500 records, but it has 2000/],
  },
  {
    title: 'small pages, to which larger ones are reduced',
    simulator: { pageMax: 37 },
    finds: [/page size: tasks: the service accepts pages of 37 records and reduces larger ones to that/],
    settings: { sync: { pageSize: 37 } },
  },
  {
    title: 'small pages, and larger ones are rejected',
    simulator: { pageMax: 37, tooLargeLimit: 'refuse' },
    finds: [/page size: tasks: the service accepts pages of 37 records and rejects larger ones/],
    settings: { sync: { pageSize: 37 } },
  },
  {
    title: 'large pages',
    simulator: { pageMax: 20_000 },
    finds: [/page size: tasks: the service accepts pages of 10000 records or more/],
  },
  {
    title: 'fetch by id for every resource',
    simulator: { fetchById: 'all' },
    finds: [
      /fetch by id: tasks: GET by id works, and the configuration does not use it/,
      /deletes: tasks: proven by 404/,
    ],
    settings: { resources: { tasks: { fetchById: true } } },
  },
  {
    title: 'fetch by id for no resource, although projects are configured with it',
    simulator: { fetchById: [] },
    resources: '[projects]',
    finds: [
      /fetch by id: projects: GET by id does not find/,
      /deletes: projects: concluded from two complete readings/,
    ],
    settings: { resources: { projects: { fetchById: false } } },
  },
  {
    title: 'an exclusive bound of updatedSince',
    simulator: { updatedSinceBound: 'exclusive' },
    finds: [/updatedSince: tasks: .*read as UTC/],
  },
  {
    title: 'lists ordered by change, with offsets as cursors',
    simulator: { order: 'updatedAt', cursorStyle: 'offset' },
    finds: [/cursor: tasks: `cursor` continues the list/, /updatedSince: tasks: .*read as UTC/],
  },
  {
    title: 'a list without records',
    simulator: { counts: { tasks: 0 } },
    finds: [
      /updatedSince: tasks: not tested, because the list is empty/,
      /cursor: tasks: the list has one page/,
    ],
  },
  {
    title: 'a list with one record',
    simulator: { counts: { tasks: 1 } },
    finds: [/cursor: tasks: the list has one page/, /updatedSince: tasks: .*read as UTC/],
  },
  {
    title: 'a shorter window than configured',
    simulator: { windowDays: 30 },
    resources: '[time-entries]',
    finds: [
      /window: time-entries: `windowField` stays unset, because no field of \d+ rows dates the window/,
      /deletes: time-entries: deletes cannot be detected/,
    ],
  },
  {
    title: 'a window of 30 days, as configured',
    simulator: { windowDays: 30 },
    resources: '[{ name: time-entries, window: 30d }]',
    finds: [/window: time-entries: "startedAt" seems to date the window/],
    settings: { resources: { 'time-entries': { windowField: 'startedAt' } } },
  },
  {
    title: 'no Date header',
    simulator: { date: 'omit' },
    finds: [/updatedSince: tasks: .*read as UTC/],
  },
  {
    title: 'updatedSince without effect',
    simulator: { odd: ['updated-since-ignored'] },
    finds: [/updatedSince: tasks: `updatedSince` has no effect/],
  },
  {
    title: 'updatedSince as local time of New York in winter',
    simulator: { odd: ['updated-since-new-york'] },
    finds: [
      /updatedSince: tasks: .*local time \(UTC-5h, compared with "updatedAt"\), so each increment misses the changes of 5h/,
    ],
    settings: { sync: { overlap: '6h5m' } },
  },
  {
    title: 'updatedSince as local time of Tokyo',
    simulator: { odd: ['updated-since-tokyo'] },
    finds: [/updatedSince: tasks: .*local time \(UTC\+9h, .*nothing is lost/],
  },
  {
    title: 'cursor without effect',
    simulator: { odd: ['cursor-ignored'] },
    finds: [/cursor: tasks: `cursor` has no effect/],
  },
  {
    title: 'fetch by id that answers 200 for everything',
    simulator: { odd: ['by-id-200'] },
    resources: '[projects]',
    finds: [
      /fetch by id: projects: (GET by id answers with success for a record that cannot exist|GET by id does not find)/,
    ],
    settings: { resources: { projects: { fetchById: false } } },
  },
  {
    title: 'fetch by id that is forbidden',
    simulator: { odd: ['by-id-403'] },
    resources: '[projects]',
    finds: [/fetch by id: projects: the API key may not use GET by id/],
    settings: { resources: { projects: { fetchById: false } } },
  },
  {
    title: 'dates as day/month/year, although the field is configured',
    simulator: { odd: ['dates-day-month-year'] },
    resources: '[{ name: time-entries, windowField: startedAt }]',
    finds: [/window: time-entries: `windowField` "startedAt" has a value of the form "00\/00\/0000"/],
  },
  {
    title: 'dates as epoch seconds',
    simulator: { odd: ['dates-epoch-seconds'] },
    resources: '[time-entries]',
    finds: [/window: time-entries: "startedAt" seems to date the window/],
    settings: { resources: { 'time-entries': { windowField: 'startedAt' } } },
  },
  {
    title: 'dates without a zone',
    simulator: { odd: ['dates-without-zone'] },
    resources: '[time-entries]',
    finds: [/window: time-entries: "startedAt" seems to date the window/],
    settings: { resources: { 'time-entries': { windowField: 'startedAt' } } },
  },
];

describe('doctor --try-service', () => {
  let folder: string;
  let simulator: Simulator | null = null;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-doctor-'));
    process.env.WORKTRACK_DOCTOR_TEST_KEY = DEMO_KEY;
  });
  afterEach(async () => {
    await simulator?.close();
    simulator = null;
  });
  afterAll(() => {
    delete process.env.WORKTRACK_DOCTOR_TEST_KEY;
    return rm(folder, { recursive: true, force: true });
  });

  async function start(options: SimulatorOptions, resources: string, yaml = ''): Promise<string> {
    simulator = await startSimulator({ awkward: false, ...options });
    return `connections:
  acme:
    baseUrl: ${simulator.url}
    apiKey: { env: WORKTRACK_DOCTOR_TEST_KEY }
    lake: { url: "${pathToFileURL(join(folder, 'lake')).href}" }
    resources: ${resources}
${yaml}`;
  }

  const said = ({ findings }: Pick<ServiceTrial, 'findings'>): string =>
    findings.map(({ check, message }) => `${check}: ${message}`).join('\n');

  it.each(INTERPRETATIONS.map((one) => [one.title, one] as const))('finds out: %s', async (_, one) => {
    const text = await start(one.simulator ?? {}, one.resources ?? '[tasks]', one.yaml);
    const [connection] = parseSettings(text, 'worktrack.yaml').connections;
    const trial = await tryService(connection!, 10_000);
    for (const message of one.finds) expect(said(trial)).toMatch(message);
    const { sync = {}, resources = {} } = one.settings ?? {};
    expect(trial.suggestions).toEqual({ sync, resources });
    // Only GET requests, and no more than announced.
    expect(
      Object.keys(simulator!.admin.stats().byRoute).filter((route) => !route.startsWith('GET ')),
    ).toEqual([]);
    for (const { state, remedy } of trial.findings)
      expect(remedy).toEqual(state === 'ok' ? null : expect.stringMatching(/^[A-Z`].+\.$/s));
  });

  it('tries at least twelve interpretations', () => {
    expect(INTERPRETATIONS.length).toBeGreaterThanOrEqual(12);
  });

  it('prints settings that pass the check of the configuration, keep the others, and leave nothing to suggest', async () => {
    const resources = `
      - { name: projects, path: projects, columns: { mask: { name: hash } } }
      - tasks
      - { name: time-entries, window: 90d }`;
    const more = '    sync: { reconcileEvery: 2d }\n    masking: { secret: { env: PATH } }\n';
    const text = await start({ pageMax: 50, odd: ['updated-since-new-york'] }, resources, more);
    const before = parseSettings(text, 'worktrack.yaml').connections[0]!;
    const { suggestions } = await tryService(before, 10_000);
    const pasted = settingsToPaste(text, 'acme', {
      sync: { ...suggestions.sync },
      resources: suggestions.resources as Record<string, Record<string, string | boolean>>,
    });
    // As a person does: the keys of the connection are replaced.
    const file = join(folder, 'pasted.yaml');
    writeFileSync(
      file,
      `${text.slice(0, text.indexOf('    resources:'))}    masking: { secret: { env: PATH } }\n${pasted}`,
    );
    expect(await runConfigCheck({ config: file })).toBe(0);
    const after = parseSettings(readFileSync(file, 'utf8'), file).connections[0]!;
    expect(after.sync).toEqual({ ...before.sync, pageSize: 50, overlapMs: 6 * 3_600_000 + 300_000 });
    expect(after.resources).toEqual(
      before.resources.map((one) =>
        one.name === 'time-entries' ? { ...one, windowField: 'startedAt' } : one,
      ),
    );
    const again = await tryService(after, 10_000);
    expect(again.suggestions).toEqual({ sync: {}, resources: {} });
  });
});

describe('plain doctor', () => {
  let simulator: Simulator;
  afterEach(() => simulator?.close());

  it.each([
    ['the four default resources', RESOURCES, {}],
    [
      'thirty resources',
      `[${Array.from({ length: 30 }, (_, at) => `{ name: list-${at}, path: tasks }`).join(', ')}]`,
      {},
    ],
    ['a service that rejects every page but one record', RESOURCES, { pageMax: 1, tooLargeLimit: 'refuse' }],
    ['a service that answers 503', RESOURCES, { odd: ['503'] }],
  ] as [string, string, SimulatorOptions][])(
    'sends at most ten requests: %s',
    async (_, resources, options) => {
      const { odd, ...rest } = options;
      simulator = await startSimulator({ awkward: false, ...rest });
      if (odd !== undefined)
        simulator.admin.faults.add({ match: {}, fault: { kind: 'status', status: 503 } });
      process.env.WORKTRACK_DOCTOR_TEST_KEY = DEMO_KEY;
      const { connections } = parseSettings(
        `connections: { acme: { baseUrl: "${simulator.url}", apiKey: { env: WORKTRACK_DOCTOR_TEST_KEY }, lake: { url: "file:///tmp/none" }, resources: ${resources} } }`,
        'worktrack.yaml',
      );
      const findings = await runChecks({ connections, temporal: null, timeoutMs: 5_000 });
      expect(simulator.admin.stats().requests).toBeLessThanOrEqual(10);
      expect(simulator.admin.stats().requests).toBeGreaterThan(0);
      if (resources.includes('list-29'))
        expect(findings.find(({ message }) => message.includes('list-29'))?.message).toContain('not checked');
    },
  );
});
