import { awkwardness } from './awkward.js';
import { hashText, mix, sentence, ulid } from './deterministic.js';
import { REALISTIC } from './realistic.js';
import { type SeedFacts, seedWriter } from './seed-rows.js';
import { DAY_MS } from './service-clock.js';
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
