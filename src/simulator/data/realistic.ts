import { iso, pick, reference, type SeedWriter, stamps, undated } from './seed-rows.js';
import { DAY_MS, HOUR_MS } from './service-clock.js';

const PROJECTS =
  `Website relaunch, Mobile app, Customer portal, Data warehouse, Payroll migration, Online shop, Service desk,
   Brand refresh, Security audit, Office move, Sales training, Partner API, Annual report, Warehouse robots,
   Newsletter, Cloud migration`.split(/,\s+/);
const FIRST = 'Ada Ben Chloe David Elif Frank Grace Hugo Ines Jonas Kim Lena'.split(' ');
const LAST = 'Schmidt Okafor Rossi Novak Larsen Dubois Tanaka Moreau Silva Weber'.split(' ');
const WORK =
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
export const REALISTIC: Readonly<Record<string, SeedWriter>> = {
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
      text: `{"id":"${facts.id}","projectId":${weighted(ids.projects, random >>> 4)},"taskId":${reference(ids.tasks, random >>> 2)},"memberId":${reference(ids.members, random >>> 5)},"description":"${pick(WORK, random >>> 3)}","startedAt":"${iso(start)}","endedAt":"${iso(start + seconds * 1000)}","durationSeconds":${seconds},"billable":${(random & 12) !== 0},"hourlyRate":${60 + (random % 8) * 5},"currency":"EUR","tags":[],"source":"web",${stamps(facts)}`,
    };
  },
  'calendar-entries'(facts, ids) {
    const { random } = facts;
    const start = workingTime(facts.created, random >>> 10);
    return {
      date: start,
      text: `{"id":"${facts.id}","source":"google","sourceKey":"event-${facts.n + 1}","title":"${pick(WORK, random >>> 3)}","memberId":${reference(ids.members, random >>> 5)},"startsAt":"${iso(start)}","endsAt":"${iso(start + HOUR_MS / 2)}","allDay":false,${stamps(facts)}`,
    };
  },
};
