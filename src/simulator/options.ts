import type { ApiKey } from './keys.js';
import type { ResourceDefinition } from './resources.js';
import type { ListOrder } from './table.js';

/** The key of a simulator that was told of no other; it may do everything in the organization `acme`. */
export const DEMO_KEY = 'wt_demo_key_0123456789abcdef';

/** The organization of the demo key. */
export const DEMO_ORGANIZATION = 'acme';

/** What may also be changed while the simulator runs (`admin.configure`, `POST /__control/options`). */
export interface TunableOptions {
  /** Page size without `limit`, and the largest one. The spec leaves both open. Default 100 and 1000. */
  pageDefault: number;
  pageMax: number;
  /** A `limit` above the maximum: served with the maximum (default), or refused with 400. */
  tooLargeLimit: 'clamp' | 'refuse';
  /** Order of lists. With `updatedAt` a record that changes moves to the end while pages are read. Default `id`. */
  order: ListOrder;
  /** What a cursor stands for: the last record given (default), or a count of records, which skips and repeats when lists shift. */
  cursorStyle: 'keyset' | 'offset';
  /** Whether `updatedSince` includes records changed at that very time. Default `inclusive`. */
  updatedSinceBound: 'inclusive' | 'exclusive';
  /** A change shows in lists so much later (service clock, ms). GET by id shows it at once. Default 0. */
  visibilityLagMs: number;
  /** Days of the lists that have a window. Default 90 (spec, "Limits"). */
  windowDays: number;
  /** Resources with GET by id; the spec has it for projects only. Default `['projects']`. */
  fetchById: readonly string[] | 'all';
  /** How long an idempotency key is remembered (service clock, ms). Default for ever. */
  idempotencyRetentionMs: number;
  /** Status of a repeated create. Default 201, as the original. */
  repeatStatus: 200 | 201;
  /** A key that comes again with another body: the original result (default), or 422. */
  reusedKey: 'original' | 'refuse';
  /** Statuses of refusals, which the spec leaves open. Defaults 401, 403, 402. */
  statuses: { badKey: number; missingGrant: number; noApiPlan: number };
  /** Puts the Authorization header into error messages, as careless services do. Default false. */
  echoAuthorization: boolean;
  /** Whether responses carry a `Date` header. Default `send`. */
  date: 'send' | 'omit';
  /** gzip where the client accepts it: bodies above 1 KiB (default), all, or none. */
  gzip: 'large' | 'always' | 'off';
}

/** How to start a simulator; everything has a default. */
export interface SimulatorOptions extends Partial<TunableOptions> {
  readonly host?: string;
  /** 0, the default, takes a free port. */
  readonly port?: number;
  /** Seed of all made-up data. Default 1. */
  readonly seed?: number;
  /** Seeded rows per resource, over the defaults of `BUILT_IN_RESOURCES`. */
  readonly counts?: Readonly<Record<string, number>>;
  /** Further list resources. */
  readonly resources?: readonly ResourceDefinition[];
  /** Mix awkward values into the seeded rows. Default true. */
  readonly awkward?: boolean;
  /** One seeded row in so many is awkward. Default 20. */
  readonly awkwardEvery?: number;
  /** Where the service's clock stands still, ms since 1970; without it the clock runs. */
  readonly now?: number;
  /** Default: the demo key. */
  readonly keys?: readonly ApiKey[];
  /** Organizations whose plan has no API. */
  readonly withoutApi?: readonly string[];
  /** Requests remembered by the statistics. Default 20,000. */
  readonly recentRequests?: number;
  /** File that keeps writes across a kill. */
  readonly stateFile?: string;
}

const DEFAULTS: TunableOptions = {
  pageDefault: 100,
  pageMax: 1000,
  tooLargeLimit: 'clamp',
  order: 'id',
  cursorStyle: 'keyset',
  updatedSinceBound: 'inclusive',
  visibilityLagMs: 0,
  windowDays: 90,
  fetchById: ['projects'],
  idempotencyRetentionMs: Number.POSITIVE_INFINITY,
  repeatStatus: 201,
  reusedKey: 'original',
  statuses: { badKey: 401, missingGrant: 403, noApiPlan: 402 },
  echoAuthorization: false,
  date: 'send',
  gzip: 'large',
};

/** The tunable part of `options` with defaults filled in. */
export function tunableOptions(options: Partial<TunableOptions>): TunableOptions {
  const given = Object.entries(options).filter(([name, value]) => name in DEFAULTS && value !== undefined);
  return { ...DEFAULTS, ...Object.fromEntries(given) };
}

/** Changes `tunable` in place. Throws `TypeError` for a name that is no tunable option. */
export function retune(tunable: TunableOptions, changes: Partial<TunableOptions>): void {
  for (const name of Object.keys(changes)) {
    if (!(name in DEFAULTS)) throw new TypeError(`${name} is no option that can be changed while running`);
  }
  Object.assign(tunable, changes);
}
