/**
 * The configuration after validation and defaults (DESIGN 4). Durations are milliseconds; secrets are references,
 * never values. `src/config` makes these from `worktrack.yaml`; everything else only reads them.
 */

import type { NotifyEvent } from './contract.js';

/** Where a secret is read from, at the moment of use (DESIGN 3.14). */
export type SecretRef = { readonly env: string } | { readonly file: string };

export interface LakeSettings {
  /** `s3://bucket/prefix` or `file:///absolute/folder`, without a trailing slash. */
  readonly url: string;
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly forcePathStyle?: boolean | undefined;
}

/** A status or a class of them: `429` or `'5xx'`. */
export type StatusPattern = number | '4xx' | '5xx';

export interface ErrorMapping {
  readonly refused: readonly StatusPattern[];
  readonly transient: readonly StatusPattern[];
}

export interface HttpSettings {
  /** Connections to the service per worker process and connection. */
  readonly concurrency: number;
  /** Ceiling of the rate budget; `null` leaves the pace to the service's 429s. */
  readonly requestsPerSecond: number | null;
  readonly connectTimeoutMs: number;
  readonly headersTimeoutMs: number;
  /** Longest silence between two pieces of a body. */
  readonly bodyTimeoutMs: number;
  /** Bound of one response after decompression. */
  readonly maxBodyBytes: number;
  /** Allows `http://` to other hosts than loopback. */
  readonly allowPlainHttp: boolean;
}

export interface SyncSettings {
  readonly pageSize: number;
  readonly overlapMs: number;
  /** `earliest`: the earlier of the service's clock and the workflow's; `service`: `Date` alone (DESIGN 3.1). */
  readonly clock: 'earliest' | 'service';
  /** `null`: never in nightly runs. */
  readonly reconcileEveryMs: number | null;
  readonly minIntervalMs: number;
}

export type DeletePolicy = 'mark' | 'drop' | 'keep';

export interface CsvSettings {
  readonly compression: 'gzip' | 'none';
  readonly delimiter: string;
  readonly nested: 'json' | 'flatten';
  /** Between the levels of a flattened column's name. */
  readonly separator: string;
  /** `escape` writes `\n` and `\r` as two characters, for engines that cannot read them inside values. */
  readonly lineBreaks: 'keep' | 'escape';
  readonly escapeFormulas: boolean;
  /** Size a part aims at, before compression. */
  readonly partBytes: number;
}

export interface ColumnSettings {
  /** Only these columns (the key always stays); `null`: all. */
  readonly include: readonly string[] | null;
  readonly exclude: readonly string[];
  readonly mask: Readonly<Record<string, 'hash' | 'redact'>>;
}

export interface ResourceSettings {
  readonly name: string;
  /** Below the base path, without slashes at its ends. */
  readonly path: string;
  /** Field names; more than one makes a compound key. */
  readonly key: readonly string[];
  /** `null`: the list shows everything. */
  readonly windowMs: number | null;
  /** The date field that decides a record's place in the window, where it is known. */
  readonly windowField: string | null;
  readonly updatedAtField: string | null;
  /** The service answers GET `<path>/<id>` (spec: projects only). */
  readonly fetchById: boolean;
  readonly badRecords: 'stop' | 'quarantine';
  readonly contract: 'evolve' | 'freeze';
  readonly columns: ColumnSettings;
  readonly deletes: DeletePolicy;
  readonly csv: CsvSettings;
}

export interface RetentionSettings {
  readonly snapshotsMs: number;
  /** Whether earlier runs of a day go once a later one is published and a grace of 24 h is over. */
  readonly keepPerDay: 'last' | 'all';
}

export interface ScheduleSettings {
  readonly cron: string;
  readonly timezone: string;
  readonly jitterMs: number;
  readonly catchupWindowMs: number;
  readonly pauseOnFailure: boolean;
}

/** When a signed notice was sent, so that an old one is not taken for a new one. */
export interface TimestampSettings {
  /** Holds Unix time in seconds or milliseconds, or an ISO 8601 time in UTC. */
  readonly header: string;
  /** How far it may be from the receiver's clock, either way. */
  readonly toleranceMs: number;
  /** What is signed: the header's text, a dot and the body, or the body alone (which leaves the time unprotected). */
  readonly signs: 'timestamp.body' | 'body';
}

/** A keyed hash (RFC 2104) of the notice. */
export interface HmacSettings {
  readonly header: string;
  readonly algorithm: 'hmac-sha1' | 'hmac-sha256' | 'hmac-sha512';
  readonly encoding: 'hex' | 'base64';
  /** What stands before the digest in the header, such as `sha256=`. */
  readonly prefix: string;
  readonly secret: SecretRef;
  /** `null`: no timestamp is looked for, and the body alone is signed. */
  readonly timestamp: TimestampSettings | null;
}

/** A shared secret that comes along as it is. */
export interface TokenSettings {
  readonly header: string;
  readonly algorithm: 'token';
  /** What stands before the secret in the header, such as `Bearer ` with its space. */
  readonly prefix: string;
  readonly secret: SecretRef;
}

/** How a notice proves where it comes from; the service's own way is "not shown" in the spec. */
export type SignatureSettings = HmacSettings | TokenSettings;

export interface WebhookSettings {
  /** An IPv6 host is without its brackets. */
  readonly listen: { readonly host: string; readonly port: number };
  /** `null`: notices are not signed (asked for by the word `none`, and only with a loopback `listen`). */
  readonly signature: SignatureSettings | null;
  /** JSON pointer (RFC 6901) to the resource's name, or to the kind of event, in a notice. */
  readonly resource: string;
  /** What the text at the pointer means, where it is no resource's name; a name that ends in `*` is a beginning. */
  readonly kinds: Readonly<Record<string, readonly string[]>>;
  /** A larger notice is answered with 413. */
  readonly maxBodyBytes: number;
}

/** Who is told of runs that fail, and of the first good one after that. */
export interface NotifySettings {
  /** Where a small JSON object is posted to; a reference where the URL itself is a secret. */
  readonly url: string | SecretRef;
  readonly headers: Readonly<Record<string, SecretRef>>;
  readonly on: readonly NotifyEvent[];
}

/** How the pair travels in a calendar entry's upsert, which the spec leaves open (DESIGN 4). */
export type UpsertStyle = 'put-path' | 'put-body' | 'post-body';

/** By resource; a path that the file leaves out is that of the mirrored resource of the same name. */
export interface WriteBackSettings {
  readonly 'time-entries': { readonly path: string };
  readonly 'calendar-entries': { readonly path: string; readonly style: UpsertStyle };
  /** For so long the service is trusted to remember an idempotency key; the spec does not say for how long it does. */
  readonly unknownAfterMs: number;
}

export interface ConnectionSettings {
  readonly name: string;
  /** `{base_url}` of the spec, without a trailing slash and without `/api/public/v2`. */
  readonly baseUrl: string;
  readonly apiKey: SecretRef;
  readonly lake: LakeSettings;
  readonly resources: readonly ResourceSettings[];
  readonly retries: { readonly giveUpAfterMs: number };
  readonly errors: ErrorMapping;
  readonly http: HttpSettings;
  readonly sync: SyncSettings;
  readonly retention: RetentionSettings;
  readonly schedule: ScheduleSettings;
  /** `null`: no receiver for this connection. */
  readonly webhook: WebhookSettings | null;
  /** `null`: nobody. */
  readonly notify: NotifySettings | null;
  readonly writeBack: WriteBackSettings;
}

export interface Settings {
  /** The file that was read, for messages. */
  readonly source: string;
  readonly connections: readonly ConnectionSettings[];
}
