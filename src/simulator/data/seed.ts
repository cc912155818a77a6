import { awkwardness } from './awkward.js';
import { hashText, mix, sentence, ulid } from './deterministic.js';
import { realisticWriter } from './realistic.js';
import { type SeedFacts, seedWriter } from './seed-rows.js';
import { DAY_MS } from './service-clock.js';
import type { Table } from './table.js';

/** The input of the seeded rows of a table. Equal inputs give equal bytes. */
interface SeedInput {
  readonly seed: number;
  readonly resource: string;
  readonly count: number;
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

function createdAt(input: SeedInput, resource: string, count: number, n: number): number {
  const span = spanOf(resource);
  return input.epoch - span + Math.floor(((n + 0.5) * (span - DAY_MS / 24)) / count);
}

function seededId(input: SeedInput, resource: string, count: number, n: number): string {
  return ulid(createdAt(input, resource, count, n), input.seed ^ hashText(resource), n);
}

/** The ids that rows refer to: at most the first thousand of a resource. */
function references(input: SeedInput, resource: string): string[] {
  const count = input.counts[resource] ?? 0;
  return Array.from({ length: Math.min(count, 1000) }, (_, n) => seededId(input, resource, count, n));
}

/** Fills an empty table with `count` rows in ascending order of their ids. A million time entries take about 3 s. */
export function seedTable(table: Table, input: SeedInput): void {
  const { resource, count, epoch, awkwardEvery } = input;
  const salt = input.seed ^ hashText(resource);
  const ids = {
    projects: references(input, 'projects'),
    tasks: references(input, 'tasks'),
    members: references(input, 'members'),
    clients: references(input, 'clients'),
  };
  const write = (input.realistic ? realisticWriter(resource, ids) : null) ?? seedWriter(resource, ids);
  for (let n = 0; n < count; n++) {
    const created = createdAt(input, resource, count, n);
    const changedLater = (mix(salt, n) & 3) === 0 ? mix(salt + 7, n) % (5 * DAY_MS) : 0;
    const awkward = awkwardEvery > 0 && n % awkwardEvery === awkwardEvery - 1;
    const odd = awkward ? awkwardness(salt, Math.floor(n / awkwardEvery)) : undefined;
    const last = awkwardEvery > 0 && n === count - 1 ? ',"onlyInTheLastRecord":"late column"' : '';
    const facts: SeedFacts = {
      id: seededId(input, resource, count, n),
      n,
      random: mix(salt + 11, n),
      created,
      // Not limited to the epoch, which would give thousands of rows the same time.
      updated: created + changedLater < epoch ? created + changedLater : created,
      awkward,
      text: odd?.text ?? (input.worded ? `"${sentence(salt, n)}"` : undefined),
      extra: (odd?.extra ?? '') + last,
    };
    const row = write(facts);
    table.seed(facts.id, { text: row.text, updatedAt: facts.updated, date: row.date, deleted: false });
  }
}
