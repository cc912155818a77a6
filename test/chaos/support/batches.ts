import type { WritableResource } from '../../../src/core/contract/write-back.js';
import type { Random } from '../../support/random.js';

/** A row of a batch, and its expected result. */
export interface BatchRow {
  /** The fields that identify its record in the service. */
  readonly name: string;
  readonly fields: Readonly<Record<string, string | number>>;
  /** A later row of the file has the same name, so this one is not sent. */
  readonly superseded: boolean;
  /** Whether the service had a record of that name before. */
  readonly known: boolean;
}

export interface Batch {
  readonly resource: WritableResource;
  readonly csv: string;
  readonly rows: readonly BatchRow[];
}

/** Some chunks of rows, which are 50 each. */
const ROWS_AT_LEAST = 120;
const ROWS_MORE = 300;
const KNOWN_SHARE = 0.2;
const TWICE_SHARE = 0.05;
const DAY_MS = 86_400_000;

/** Creates batches from a seed, and keeps the records that the service must have after all of them. */
export class Batches {
  /** By resource and name. */
  readonly #expected: Record<WritableResource, Map<string, BatchRow['fields']>> = {
    'time-entries': new Map(),
    'calendar-entries': new Map(),
  };
  /** Within the window of the lists. */
  readonly #day = new Date(Date.now() - 3 * DAY_MS).toISOString();
  #serial = 0;

  /** What the service must hold of a resource, by name. */
  expected(resource: WritableResource): ReadonlyMap<string, BatchRow['fields']> {
    return this.#expected[resource];
  }

  /** What names a record that the service holds, in the same way as `BatchRow`. */
  nameOf(resource: WritableResource, record: Readonly<Record<string, unknown>>): string {
    return resource === 'time-entries' ? String(record.description) : `${record.source} ${record.sourceKey}`;
  }

  /** Rows that each create a record. */
  timeEntries(random: Random): Batch {
    const rows = drawn(random, () => ({
      description: `entry ${++this.#serial}`,
      durationSeconds: 60 * (1 + random.below(500)),
      startedAt: this.#day,
    }));
    return this.#batch('time-entries', 'description,durationSeconds:integer,startedAt', rows);
  }

  /** Rows that create or update a record, some of them more than once. */
  calendarEntries(random: Random): Batch {
    const before = [...this.#expected['calendar-entries'].values()];
    const made: Record<string, string>[] = [];
    const rows = drawn(random, () => {
      const share = random.share();
      const again =
        share < TWICE_SHARE ? made : share < TWICE_SHARE + KNOWN_SHARE ? before : ([] as typeof before);
      const pair = again.length > 0 ? random.pick(again) : { source: 'plan', sourceKey: `${++this.#serial}` };
      const row = {
        source: String(pair.source),
        sourceKey: String(pair.sourceKey),
        title: `version ${++this.#serial}`,
        startsAt: this.#day,
      };
      made.push(row);
      return row;
    });
    return this.#batch('calendar-entries', 'source,sourceKey,title,startsAt', rows);
  }

  #batch(resource: WritableResource, header: string, all: readonly BatchRow['fields'][]): Batch {
    const expected = this.#expected[resource];
    const last = new Map(all.map((fields, at) => [this.nameOf(resource, fields), at]));
    const rows = all.map((fields, at) => {
      const name = this.nameOf(resource, fields);
      return { name, fields, superseded: last.get(name) !== at, known: expected.has(name) };
    });
    for (const { name, fields, superseded } of rows) if (!superseded) expected.set(name, fields);
    const lines = all.map((fields) => `${Object.values(fields).join(',')}\n`);
    return { resource, csv: `${header}\n${lines.join('')}`, rows };
  }
}

function drawn<T>(random: Random, draw: () => T): T[] {
  return Array.from({ length: ROWS_AT_LEAST + random.below(ROWS_MORE) }, draw);
}
