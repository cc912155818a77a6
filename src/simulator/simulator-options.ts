/** The default API key. It has all grants in the organization `acme`. */
export const DEMO_KEY = 'wt_demo_key_0123456789abcdef';

/** The key of the odd service `key-replaced`. */
export const REPLACED_KEY = 'wt_demo_key_replaced';

export const DEMO_ORGANIZATION = 'acme';

export type ListOrder = 'id' | 'updatedAt' | '-updatedAt' | 'random';

/** A list resource of the service. */
export interface ResourceDefinition {
  /** Its name in paths, such as `time-entries`. */
  readonly name: string;
  /** The date field of the window. Without one, all records are listed. */
  readonly windowField?: string;
  /** Number of seeded rows; the option `counts` overrides it. */
  readonly count?: number;
}

/** The resources in the API, and three examples of its "and so on". */
export const BUILT_IN_RESOURCES: readonly ResourceDefinition[] = [
  { name: 'projects', count: 12 },
  { name: 'tasks', count: 60 },
  { name: 'time-entries', count: 500, windowField: 'startedAt' },
  { name: 'calendar-entries', count: 80, windowField: 'startsAt' },
  { name: 'members', count: 8 },
  { name: 'clients', count: 5 },
  { name: 'tags', count: 10 },
];

/** An API key (docs/service-api.md#requests). */
export interface ApiKey {
  /** The secret that the client sends as a Bearer token. */
  readonly key: string;
  readonly name: string;
  readonly organization: string;
  /** `projects:read`, `time-entries:write`; `*` for all. */
  readonly grants: readonly string[];
  /** Service clock, ms since 1970; absent for never. */
  readonly expiresAt?: number;
}

/** Options that can be changed while the simulator runs (`admin.configure`). */
export interface TunableOptions {
  /** Page size without `limit`, and the maximum. The API defines neither. Default 100 and 1000. */
  pageDefault: number;
  pageMax: number;
  /** What happens to a `limit` above the maximum: `clamp` (default) uses the maximum, `refuse` responds with 400. */
  tooLargeLimit: 'clamp' | 'refuse';
  /**
   * Order of lists. With `updatedAt`, a record that changes moves to the end of the list; with `-updatedAt`, to its start.
   * Default `id`.
   */
  order: ListOrder;
  /** What a cursor contains: the last record (`keyset`, default), or an offset, which skips or repeats records if the list shifts. */
  cursorStyle: 'keyset' | 'offset';
  /** Whether `updatedSince` includes records changed at exactly that time. Default `inclusive`. */
  updatedSinceBound: 'inclusive' | 'exclusive';
  /** Delay before a change appears in lists (service clock, ms). GET by id shows it immediately. Default 0. */
  visibilityLagMs: number;
  /** Length of the window of lists, in days. Default 90 (docs/service-api.md#what-is-open-and-what-answers-it). */
  windowDays: number;
  /** Resources with GET by id. The API defines it only for projects. Default `['projects']`. */
  fetchById: readonly string[] | 'all';
  /** How long an idempotency key is stored (service clock, ms). Default: forever. */
  idempotencyRetentionMs: number;
  /** Status of the response to a repeated create. Default 201, like the original. */
  repeatStatus: 200 | 201;
  /** Response to an idempotency key that is reused with another body: the original response (default), or 422. */
  reusedKey: 'original' | 'refuse';
  /** Statuses of refusals. The API does not define them. Defaults 401, 403, 402. */
  statuses: { badKey: number; missingGrant: number; noApiPlan: number };
  /** Whether error messages contain the Authorization header. Default false. */
  echoAuthorization: boolean;
  /** Whether responses have a `Date` header. Default `send`. */
  date: 'send' | 'omit';
  /** Bodies to compress if the client accepts gzip: those above 1 KiB (default), all, or none. */
  gzip: 'large' | 'always' | 'off';
}

/** Options of a simulator; all have defaults. */
export interface SimulatorOptions extends Partial<TunableOptions> {
  readonly host?: string;
  /** Default 0: a free port. */
  readonly port?: number;
  /** Seed of all generated data. Default 1. */
  readonly seed?: number;
  /** Seeded rows per resource; overrides `BUILT_IN_RESOURCES`. */
  readonly counts?: Readonly<Record<string, number>>;
  /** Additional list resources. */
  readonly resources?: readonly ResourceDefinition[];
  /**
   * `generic` (default): rows with much variety, for tests. `worded`: the same with separate sentences as names and
   * descriptions, which compress like those of people. `realistic`: rows as a small agency would have them, with work
   * on weekdays and no awkward values.
   */
  readonly data?: 'generic' | 'worded' | 'realistic';
  /** Whether some seeded rows have awkward values. Default true. */
  readonly awkward?: boolean;
  /** One of this many seeded rows is awkward. Default 20. */
  readonly awkwardEvery?: number;
  /** The service's clock is stopped at this time, ms since 1970. Default: the clock runs. */
  readonly now?: number;
  /** Default: the demo key. */
  readonly keys?: readonly ApiKey[];
  /** Organizations whose plan does not include the API. */
  readonly withoutApi?: readonly string[];
  /** Number of recent requests in the statistics. Default 20,000. */
  readonly recentRequests?: number;
  /** File that preserves writes if the process is killed. */
  readonly stateFile?: string;
  /** Names of `ODD_SERVICES`: behaviours of less polite services. Default: none. */
  readonly odd?: readonly string[];
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

/** The tunable options with defaults. */
export function tunableOptions(options: Partial<TunableOptions>): TunableOptions {
  const given = Object.entries(options).filter(([name, value]) => name in DEFAULTS && value !== undefined);
  return { ...DEFAULTS, ...Object.fromEntries(given) };
}

/** Changes `tunable` in place. Throws `TypeError` for a name that is not a tunable option. */
export function applyOptions(tunable: TunableOptions, changes: Partial<TunableOptions>): void {
  for (const name of Object.keys(changes)) {
    if (!(name in DEFAULTS))
      throw new TypeError(`the option ${name} does not exist or cannot be changed while running`);
  }
  Object.assign(tunable, changes);
}
