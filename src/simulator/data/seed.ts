import { awkwardness, awkwardSourceKey } from './awkward.js';
import { hashText, mix, sentence, ulid } from './deterministic.js';
import { DAY_MS, HOUR_MS } from './service-clock.js';
import type { Table } from './table.js';

/** How rows are seeded. Equal plans give equal bytes. */
export interface SeedPlan {
  readonly seed: number;
  /** Rows per resource, for references between resources. */
  readonly counts: Readonly<Record<string, number>>;
  /** No seeded date is later than this, ms since 1970. */
  readonly epoch: number;
  /** One of this many rows is awkward; 0 for none. */
  readonly awkwardEvery: number;
  /** Whether rows look as those of a small agency. */
  readonly realistic: boolean;
  /** Whether each row has a different sentence as its text. */
  readonly worded: boolean;
}

/** Rows of resources with a window are seeded in the 80 days before `epoch`, other rows in the two years before. */
const spanOf = (resource: string): number =>
  (resource === 'time-entries' || resource === 'calendar-entries' ? 80 : 730) * DAY_MS;

const countOf = (plan: SeedPlan, resource: string): number => plan.counts[resource] ?? 0;

function createdAt(plan: SeedPlan, resource: string, n: number): number {
  const span = spanOf(resource);
  return plan.epoch - span + Math.floor(((n + 0.5) * (span - DAY_MS / 24)) / countOf(plan, resource));
}

function seededId(plan: SeedPlan, resource: string, n: number): string {
  return ulid(createdAt(plan, resource, n), plan.seed ^ hashText(resource), n);
}

/** The ids that rows refer to: at most the first thousand of a resource. */
function references(plan: SeedPlan, resource: string): string[] {
  const length = Math.min(countOf(plan, resource), 1000);
  return Array.from({ length }, (_, n) => seededId(plan, resource, n));
}

/** Fills an empty table with the rows of a resource in ascending order of their ids. A million time entries take about 3 s. */
export function seedTable(table: Table, resource: string, plan: SeedPlan): void {
  const { epoch, awkwardEvery } = plan;
  const count = countOf(plan, resource);
  const salt = plan.seed ^ hashText(resource);
  const ids = {
    projects: references(plan, 'projects'),
    tasks: references(plan, 'tasks'),
    members: references(plan, 'members'),
    clients: references(plan, 'clients'),
  };
  const isRealistic = plan.realistic && Object.hasOwn(REALISTIC, resource);
  const write = isRealistic ? REALISTIC[resource]! : seedWriter(resource);
  for (let n = 0; n < count; n++) {
    const created = createdAt(plan, resource, n);
    const changedLater = (mix(salt, n) & 3) === 0 ? mix(salt + 7, n) % (5 * DAY_MS) : 0;
    const awkward = awkwardEvery > 0 && n % awkwardEvery === awkwardEvery - 1;
    const odd = awkward ? awkwardness(salt, Math.floor(n / awkwardEvery)) : undefined;
    const last = awkwardEvery > 0 && n === count - 1 ? ',"onlyInTheLastRecord":"late column"' : '';
    const facts: SeedFacts = {
      id: seededId(plan, resource, n),
      n,
      random: mix(salt + 11, n),
      created,
      // Not limited to the epoch, which would give thousands of rows the same time.
      updated: created + changedLater < epoch ? created + changedLater : created,
      awkward,
      text: odd?.text ?? (plan.worded ? `"${sentence(salt, n)}"` : undefined),
      extra: (odd?.extra ?? '') + last,
    };
    const row = write(facts, ids);
    table.seed(facts.id, { text: row.text, updatedAt: facts.updated, date: row.date, deleted: false });
  }
}

/** The input for a seeded row of any resource. */
interface SeedFacts {
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

interface SeedReferences {
  readonly projects: readonly string[];
  readonly tasks: readonly string[];
  readonly members: readonly string[];
  readonly clients: readonly string[];
}

interface SeedRow {
  readonly text: string;
  readonly date: number;
}

type SeedWriter = (facts: SeedFacts, ids: SeedReferences) => SeedRow;

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
const iso = (ms: number): string => new Date(ms).toISOString();
const pick = <T>(items: readonly T[], random: number): T => items[random % items.length] as T;
const reference = (ids: readonly string[], random: number): string =>
  ids.length === 0 ? 'null' : `"${pick(ids, random)}"`;

const stamps = (facts: SeedFacts): string =>
  `"createdAt":"${iso(facts.created)}","updatedAt":"${iso(facts.updated)}"${facts.extra}}`;

/** The writer of a resource's rows. Rows of an unknown resource have `id`, `name`, `createdAt` and `updatedAt`. */
function seedWriter(resource: string): SeedWriter {
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

const undated = (text: string): SeedRow => ({ text, date: Number.NaN });

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

const PROJECTS =
  `Website relaunch, Mobile app, Customer portal, Data warehouse, Payroll migration, Online shop, Service desk,
   Brand refresh, Security audit, Office move, Sales training, Partner API, Annual report, Warehouse robots,
   Newsletter, Cloud migration`.split(/,\s+/);
const FIRST = 'Ada Ben Chloe David Elif Frank Grace Hugo Ines Jonas Kim Lena'.split(' ');
const LAST = 'Schmidt Okafor Rossi Novak Larsen Dubois Tanaka Moreau Silva Weber'.split(' ');
const ENTRIES =
  `Design review, Stand-up, Implementation, Bug fixing, Client call, Testing, Documentation, Planning, Code review,
   Deployment, Interviews, Support`.split(/,\s+/);
const STEPS = ['Draft', 'Prepare', 'Build', 'Check', 'Ship', 'Discuss', 'Update', 'Fix'];
const PARTS =
  'the home page, the login, the price list, the import, the invoices, the roadmap, the tests'.split(', ');
/** Minutes of an entry; short ones are more frequent. */
const MINUTES = [15, 15, 30, 30, 30, 45, 60, 60, 90, 120, 180, 240];

const numbered = (name: string, n: number, of: number): string =>
  n < of ? name : `${name} ${Math.floor(n / of) + 1}`;

/** Favours the first items, as a few projects get most of the work. */
function weighted(ids: readonly string[], random: number): string {
  return reference(ids, Math.floor(((random % 1009) / 1009) ** 2 * ids.length));
}

/** The latest working time (Monday to Friday, 8 to 16 o'clock UTC) at least a day before a time, ms since 1970. */
function workingTime(before: number, random: number): number {
  let day = Math.floor((before - DAY_MS) / DAY_MS) * DAY_MS;
  while ([0, 6].includes(new Date(day).getUTCDay())) day -= DAY_MS;
  return day + 8 * HOUR_MS + (random % 32) * (HOUR_MS / 4);
}

/** Writers of rows as a small agency would have them, by resource. The fields are those of the generic rows. */
const REALISTIC: Readonly<Record<string, SeedWriter>> = {
  projects(facts, ids) {
    const name = numbered(pick(PROJECTS, facts.n), facts.n, PROJECTS.length);
    return undated(
      `{"id":"${facts.id}","name":"${name}","clientId":${reference(ids.clients, facts.random)},"budgetHours":${100 + (facts.random % 40) * 20},"archived":false,${stamps(facts)}`,
    );
  },
  members(facts) {
    const name = numbered(`${pick(FIRST, facts.n)} ${pick(LAST, facts.n)}`, facts.n, 60);
    return undated(`{"id":"${facts.id}","name":"${name}",${stamps(facts)}`);
  },
  tasks(facts, ids) {
    const { random } = facts;
    const title = `${pick(STEPS, random >>> 3)} ${pick(PARTS, random >>> 7)}`;
    return undated(
      `{"id":"${facts.id}","projectId":${weighted(ids.projects, random >>> 4)},"title":"${title}","assigneeId":${reference(ids.members, random >>> 5)},"done":${(random & 1) === 1},"estimateSeconds":${(1 + (random % 16)) * 1800},${stamps(facts)}`,
    );
  },
  'time-entries'(facts, ids) {
    const { random } = facts;
    const seconds = pick(MINUTES, random >>> 6) * 60;
    const start = workingTime(facts.created, random >>> 10);
    return {
      date: start,
      text: `{"id":"${facts.id}","projectId":${weighted(ids.projects, random >>> 4)},"taskId":${reference(ids.tasks, random >>> 2)},"memberId":${reference(ids.members, random >>> 5)},"description":"${pick(ENTRIES, random >>> 3)}","startedAt":"${iso(start)}","endedAt":"${iso(start + seconds * 1000)}","durationSeconds":${seconds},"billable":${(random & 12) !== 0},"hourlyRate":${60 + (random % 8) * 5},"currency":"EUR","tags":[],"source":"web",${stamps(facts)}`,
    };
  },
  'calendar-entries'(facts, ids) {
    const { random } = facts;
    const start = workingTime(facts.created, random >>> 10);
    return {
      date: start,
      text: `{"id":"${facts.id}","source":"google","sourceKey":"event-${facts.n + 1}","title":"${pick(ENTRIES, random >>> 3)}","memberId":${reference(ids.members, random >>> 5)},"startsAt":"${iso(start)}","endsAt":"${iso(start + HOUR_MS / 2)}","allDay":false,${stamps(facts)}`,
    };
  },
};
