import { awkwardSourceKey } from './awkward.js';
import { HOUR_MS } from './service-clock.js';

/** The input for a seeded row of any resource. */
export interface SeedFacts {
  readonly id: string;
  readonly n: number;
  /** 32 random bits. */
  readonly random: number;
  /** Ms since 1970. */
  readonly created: number;
  readonly updated: number;
  readonly awkward: boolean;
  /** JSON literal to use instead of the plain text. */
  readonly text: string | undefined;
  /** JSON text of further fields, starting with a comma; or empty. */
  readonly extra: string;
}

export interface SeedReferences {
  readonly projects: readonly string[];
  readonly tasks: readonly string[];
  readonly members: readonly string[];
  readonly clients: readonly string[];
}

export interface SeedRow {
  readonly text: string;
  readonly date: number;
}

export type SeedWriter = (facts: SeedFacts, ids: SeedReferences) => SeedRow;

const WORK = 'Review, Planning, Implementation, Call with client, Testing, Research, Support, Writing'.split(
  ', ',
);
const ABOUT = 'billing export, login page, quarterly report, onboarding, data model, release notes'.split(
  ', ',
);
const CURRENCIES = ['EUR', 'USD', 'GBP', 'CHF'];
const SOURCES = ['web', 'mobile', 'desktop', 'import'];
const CALENDARS = ['google', 'outlook', 'ical'];
const TAGS = ['[]', '["internal"]', '["client","urgent"]', '["travel"]'];

/** For writers of rows: an ISO 8601 time, an item, a reference or null, and the last fields of a row. */
export const iso = (ms: number): string => new Date(ms).toISOString();
export const pick = <T>(items: readonly T[], random: number): T => items[random % items.length] as T;
export const reference = (ids: readonly string[], random: number): string =>
  ids.length === 0 ? 'null' : `"${pick(ids, random)}"`;

export const stamps = (facts: SeedFacts): string =>
  `"createdAt":"${iso(facts.created)}","updatedAt":"${iso(facts.updated)}"${facts.extra}}`;

/** The writer of a resource's rows. Rows of an unknown resource have `id`, `name`, `createdAt` and `updatedAt`. */
export function seedWriter(resource: string): SeedWriter {
  const label = resource.replace(/[^A-Za-z0-9]/g, ' ').replace(/s$/, '');
  return Object.hasOwn(WRITERS, resource)
    ? WRITERS[resource]!
    : (facts) =>
        undated(`{"id":"${facts.id}","name":${facts.text ?? `"${label} ${facts.n + 1}"`},${stamps(facts)}`);
}

const WRITERS: Readonly<Record<string, SeedWriter>> = {
  'time-entries': timeEntry,
  'calendar-entries': calendarEntry,
  projects: (facts, ids) =>
    undated(
      `{"id":"${facts.id}","name":${facts.text ?? `"Project ${facts.n + 1}"`},"clientId":${reference(ids.clients, facts.random)},"budgetHours":${facts.random % 400}.50,"archived":${facts.n % 9 === 8},${stamps(facts)}`,
    ),
  tasks: (facts, ids) =>
    undated(
      `{"id":"${facts.id}","projectId":${reference(ids.projects, facts.random)},"title":${facts.text ?? work(facts.random)},"assigneeId":${reference(ids.members, facts.random >>> 5)},"done":${(facts.random & 1) === 1},"estimateSeconds":${(facts.random % 40) * 900},${stamps(facts)}`,
    ),
};

/** A text about work, as JSON. */
const work = (random: number): string => `"${pick(WORK, random >>> 3)}: ${pick(ABOUT, random >>> 7)}"`;

export const undated = (text: string): SeedRow => ({ text, date: Number.NaN });

function timeEntry(facts: SeedFacts, ids: SeedReferences): SeedRow {
  const { random } = facts;
  const seconds = ((random % 32) + 1) * 900;
  const start = facts.created - seconds * 1000;
  const text = facts.text ?? work(random);
  return {
    date: start,
    text: `{"id":"${facts.id}","projectId":${reference(ids.projects, random)},"taskId":${reference(ids.tasks, random >>> 2)},"memberId":${reference(ids.members, random >>> 5)},"description":${text},"startedAt":"${iso(start)}","endedAt":"${iso(facts.created)}","durationSeconds":${seconds},"billable":${(random & 4) !== 0},"hourlyRate":${40 + (random % 90)}.50,"currency":"${pick(CURRENCIES, random >>> 9)}","tags":${pick(TAGS, random >>> 11)},"source":"${pick(SOURCES, random >>> 13)}",${stamps(facts)}`,
  };
}

function calendarEntry(facts: SeedFacts, ids: SeedReferences): SeedRow {
  const { random } = facts;
  const start = facts.created;
  const key = JSON.stringify(facts.awkward ? awkwardSourceKey(facts.n) : `event-${facts.n + 1}`);
  const text = facts.text ?? work(random);
  return {
    date: start,
    text: `{"id":"${facts.id}","source":"${pick(CALENDARS, random)}","sourceKey":${key},"title":${text},"memberId":${reference(ids.members, random >>> 5)},"startsAt":"${iso(start)}","endsAt":"${iso(start + HOUR_MS)}","allDay":${random % 10 === 0},${stamps(facts)}`,
  };
}
