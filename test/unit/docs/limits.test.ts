import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ACTIVITIES } from '../../../src/core/contract/activity-table.js';
import { pageAt } from '../../support/docs.js';

const ROOT = resolve(import.meta.dirname, '../../..');
const { text: page } = pageAt('docs/reference/limits.md');

/** The constant behind each row, by the row's first words: its name, and a part of its path if several have the name. */
const CONSTANTS: Readonly<Record<string, readonly [name: string, path?: string]>> = {
  'how long words about a rate limit': ['MAX_WORDS_MS'],
  'redirects followed': ['MAX_REDIRECTS'],
  'characters of an error response': ['MAX_MESSAGE_CHARS', 'src/api'],
  'depth of a nested value': ['MAX_FLATTENED_LEVELS'],
  'depth of JSON': ['MAX_DEPTH', 'src/json/scanner'],
  'length of a cursor': ['MAX_CURSOR_BYTES'],
  'restarts of a list': ['MAX_RESTARTS'],
  'runs until a larger page size': ['TRY_LARGER_AFTER_RUNS'],
  'second and third readings': ['MAX_REREADS'],
  'pages in a row without': ['MAX_PAGES', 'src/run/read'],
  'data columns of a resource': ['MAX_COLUMNS'],
  'bytes of one row |': ['MAX_ROW_BYTES'],
  'length of an object key': ['MAX_KEY_BYTES', 'src/lake'],
  'runs that a manifest lists': ['PREVIOUS_RUNS'],
  'grace period of a replaced': ['READER_GRACE_MS', 'src/lake'],
  'share of rows': ['DELETE_LIMIT_SHARE'],
  'share of the rows that the list should show': ['DELETE_LIMIT_LIST_SHARE'],
  'rows that a run may always delete': ['DELETE_LIMIT_ROWS'],
  'distance from the edge': ['EDGE_MS', 'src/run'],
  'earlier runs that `verify`': ['MAX_EXTRA_BYTES'],
  'checks of a resource': ['MAX_CHECKS', 'src/core/schema'],
  'values of a check': ['MAX_VALUES', 'src/core/schema'],
  'least characters of `masking.secret`': ['LEAST_CHARACTERS'],
  '`latest.json`': ['MAX_POINTER_BYTES'],
  'a manifest': ['MAX_MANIFEST_BYTES'],
  'a block index': ['MAX_INDEX_BYTES'],
  'a staged document': ['MAX_STAGED_BYTES'],
  'a commit of': ['MAX_COMMIT_BYTES'],
  'a checkpoint of': ['MAX_CHECKPOINT_BYTES'],
  'a chunk of a batch': ['MAX_CHUNK_BYTES', 'src/lake/size-limits'],
  'a block of rows': ['MAX_BLOCK_BYTES', 'src/lake/size-limits'],
  'any other object': ['MAX_OTHER_BYTES'],
  'bytes of one row of the input': ['MAX_RECORD_BYTES'],
  'published values that decide': ['ENOUGH_VALUES'],
  'failed or refused rows in a row': ['MAX_IN_A_ROW'],
  'rows that are tried then': ['MAX_PROBES'],
  'notices handled at the same time': ['MAX_NOTICES'],
  'bytes of notices held': ['MAX_HELD_BYTES', 'src/webhook'],
  'time until a receiver': ['WAIT_MS', 'src/webhook'],
  'longest wait of a notice': ['MAX_WAIT_MS', 'src/mirror/notice-rules'],
  'time after a message': ['COLLECT_MS'],
  'first reminder of a problem': ['FIRST_REMINDER_MS'],
  'time for one message': ['TIMEOUT_MS', 'src/api/post-alert'],
  'time without Temporal until': ['DISCONNECTED_AFTER_MS'],
  'time after the last poll': ['WORKER_GONE_MS'],
  'longest drain': ['GIVE_UP_DRAIN_MS'],
  'connections that a command works on': ['PARALLEL_CONNECTIONS', 'src/cli'],
  'size of a secret file': ['MAX_FILE_BYTES', 'src/core/secrets'],
  'size of the configuration file': ['MAX_CHARACTERS', 'src/config'],
  'an error message': ['MAX_MESSAGE_BYTES', 'text-budget'],
  'warnings of a report |': ['MAX_WARNINGS', 'run-records'],
  'schema changes of a report |': ['MAX_CHANGES', 'schema-changes'],
  'schema changes of a report, together': ['MAX_CHANGES_BYTES', 'schema-changes'],
  'warnings of a report, together': ['MAX_WARNINGS_BYTES', 'run-records'],
  'reports of one export': ['MAX_RECORDS_BYTES'],
  'requests that wait for one mirror': ['MAX_WAITING_BYTES'],
};

describe('the page of limits', () => {
  const rows = [...page.matchAll(/^\| (?!limit|---)(.+? \| .+?) \|$/gm)].map((match) => match[1]!);

  it.each(rows)('states the value of the code: %s', (row) => {
    const [, constant] = Object.entries(CONSTANTS).find(([start]) => row.startsWith(start)) ?? [];
    expect(constant, `a constant for "${row}" in test/unit/docs/limits.test.ts`).toBeDefined();
    const value = row.split(' | ')[1]!;
    expect(waysToSay(constantOf(...constant!))).toContain(value);
  });

  it('has a row for each constant of this test', () => {
    const starts = Object.keys(CONSTANTS);
    expect(starts.filter((start) => !rows.some((row) => row.startsWith(start)))).toEqual([]);
    expect(rows.length).toBeGreaterThan(50);
  });
});

describe('The limits of the activities', () => {
  const { text } = pageAt('docs/internals/fencing.md');
  const rows = [
    ...text.slice(text.indexOf('| activity | one attempt')).matchAll(/^\| (?!activity)(\w.*)$/gm),
  ].map(([, row]) => {
    const [name, one, attempts, all] = row!.split('|').map((cell) => cell.trim().replaceAll('`', ''));
    const [activity, mark] = name!.split(' ');
    return { activity: activity!, mark, one: one!, attempts: attempts!, all: all! };
  });

  it('are those of every activity', () => {
    const all = Object.keys(ACTIVITIES).map((name) => name.slice('worktrack.'.length));
    expect(rows.map(({ activity }) => activity).sort()).toEqual(all.sort());
  });

  it.each(rows)('are stated in the page on fencing: $activity', ({ activity, mark, one, attempts, all }) => {
    const { limits, giveUp } = ACTIVITIES[`worktrack.${activity}` as keyof typeof ACTIVITIES];
    const isTime = giveUp === 'time';
    expect(one).toBe(isTime ? 'G' : inWords(limits.startToCloseTimeout));
    const { maximumAttempts } = limits.retry;
    if (giveUp === 'attempts') expect(attempts).toMatch(/at least 3/);
    else expect(attempts).toMatch(maximumAttempts === undefined ? /^any number/ : `${maximumAttempts}`);
    const total = limits.scheduleToCloseTimeout;
    if (isTime || activity === 'run' || activity === 'sendRows')
      expect(all).toMatch(/^G( from the start of the run)?/);
    else if (total === undefined) expect(all).toBe('');
    else expect(all).toBe(inWords(total));
    expect(mark === undefined).toBe(limits.heartbeatTimeout !== undefined);
  });
});

const SOURCES = ['src', 'workflows', 'activities'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((path) => join(folder, path))
    .filter((path) => path.endsWith('.ts'))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
);

const UNITS: Readonly<Record<string, number>> = {
  ...{ SECOND_MS: 1000, MINUTE_MS: 60_000, HOUR_MS: 3_600_000, DAY_MS: 86_400_000 },
  ...{ KiB: 1024, MiB: 1024 ** 2, MIB: 1024 ** 2, GiB: 1024 ** 3 },
};

/** The value of a constant of the code, which is a product of numbers and units. */
function constantOf(name: string, path = ''): number {
  const found = SOURCES.filter((one) => one.path.includes(path)).flatMap(({ text }) => {
    const [, value] = new RegExp(`^(?:export )?const ${name}(?:: [^=]+)? = ([^;]+);`, 'm').exec(text) ?? [];
    return value === undefined ? [] : [value];
  });
  expect(found, `const ${name} in ${path || 'the code'}`).toHaveLength(1);
  const [, base, shift] = /^(\d+) << (\d+)$/.exec(found[0]!) ?? [];
  if (base !== undefined) return Number(base) << Number(shift);
  return found[0]!
    .split(/ \* (?!\*)/)
    .map((factor) =>
      factor
        .split(' ** ')
        .map(numberOf)
        .reduce((value, power) => value ** power),
    )
    .reduce((product, factor) => product * factor);
}

function numberOf(text: string): number {
  const value = UNITS[text] ?? Number(text.replaceAll('_', ''));
  expect(Number.isFinite(value), text).toBe(true);
  return value;
}

/** A time as the page on fencing writes it, in its largest unit. */
function inWords(ms: number): string {
  const units = { day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1000 };
  const [unit, size] = Object.entries(units).find(([, one]) => ms >= one)!;
  return `${ms / size} ${unit}${ms === size ? '' : 's'}`;
}

/** All ways that the page may write a number. */
function waysToSay(value: number): string[] {
  const grouped = value.toLocaleString('en-US');
  const of = (unit: string, size: number) =>
    value % size === 0 && value >= size ? [`${(value / size).toLocaleString('en-US')} ${unit}`] : [];
  return [
    ...[grouped, `${grouped} ms`, `${grouped} bytes`, `${grouped} levels`, `${Math.round(value * 100)}%`],
    ...of('s', 1000).concat(of('min', 60_000), of('h', 3_600_000), of('days', 86_400_000)),
    ...of('KiB', 1024).concat(of('MiB', 1024 ** 2), of('GiB', 1024 ** 3)),
    ...(value === 1000 ? ['one per second'] : []),
  ];
}
