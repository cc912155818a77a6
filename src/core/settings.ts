/**
 * The configuration after validation and defaults (docs/reference/configuration.md). Durations are milliseconds. Secrets are
 * references, never values. `src/config` creates the settings from `worktrack.yaml`; all other code only reads them.
 */

import type { AlertEvent } from './alert-events.js';
import type { AlertFormat } from './alerts/formats.js';
import type { OnPublishedTarget } from './contract/index.js';

/** The variable or file of a secret, which is read at each use (docs/explanation/guarantees.md#secrets). */
export type SecretRef = { readonly env: string } | { readonly file: string };

export interface LakeSettings {
  /** `s3://bucket/prefix` or `file:///absolute/folder`, without a trailing slash. */
  readonly url: string;
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly forcePathStyle?: boolean | undefined;
  /** Encryption of each new object: with a key of AWS KMS (ARN, id or alias), or with keys of S3. Absent: the bucket's default. */
  readonly encryption?: 'sse-s3' | { readonly kmsKey: string } | undefined;
  /** The role that the connection's credentials assume. */
  readonly role?: { readonly arn: string; readonly externalId?: string | undefined } | undefined;
  /** Profile of the AWS configuration; absent: the environment decides. */
  readonly profile?: string | undefined;
  /** Tags of each new object. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** Storage class of published objects. */
  readonly storageClass?: StorageClass | undefined;
  /** Whether this account pays for requests to the bucket. */
  readonly requesterPays?: boolean | undefined;
  /** Account id of the bucket's owner; S3 rejects requests to a bucket of another account. */
  readonly expectedBucketOwner?: string | undefined;
}

/** Storage classes of S3 whose objects can be read immediately. */
export const STORAGE_CLASSES = [
  'STANDARD',
  'STANDARD_IA',
  'ONEZONE_IA',
  'INTELLIGENT_TIERING',
  'GLACIER_IR',
] as const;
export type StorageClass = (typeof STORAGE_CLASSES)[number];

/** A status or a class of them: `429` or `'5xx'`. */
export type StatusPattern = number | '4xx' | '5xx';

export interface ErrorMapping {
  readonly refused: readonly StatusPattern[];
  readonly transient: readonly StatusPattern[];
}

export interface HttpSettings {
  /** Connections to the service per worker process and connection. */
  readonly concurrency: number;
  /** Upper limit of the rate budget; `null`: only the service's 429 responses limit the rate. */
  readonly requestsPerSecond: number | null;
  readonly connectTimeoutMs: number;
  readonly headersTimeoutMs: number;
  /** Maximum time between two chunks of a body. */
  readonly bodyTimeoutMs: number;
  /** From the request to the last byte of the response. Also ends responses that arrive very slowly. */
  readonly responseTimeoutMs: number;
  /** Maximum size of one response after decompression. */
  readonly maxBodyBytes: number;
  /** Allows `http://` to hosts other than loopback. */
  readonly allowPlainHttp: boolean;
}

export interface SyncSettings {
  readonly pageSize: number;
  readonly overlapMs: number;
  /** `earliest`: the earlier of the service's and the workflow's clock; `service`: only the `Date` header (docs/explanation/guarantees.md#watermark). */
  readonly clock: 'earliest' | 'service';
  /** `null`: nightly runs never reconcile. */
  readonly reconcileEveryMs: number | null;
  readonly minIntervalMs: number;
}

export type DeletePolicy = 'mark' | 'drop' | 'keep';

export interface CsvSettings {
  readonly compression: 'gzip' | 'none';
  readonly delimiter: string;
  readonly nested: 'json' | 'flatten';
  /** Separates the levels in a flattened column's name. */
  readonly separator: string;
  /** `escape` writes `\n` and `\r` as two characters, for engines that cannot read line breaks inside values. */
  readonly lineBreaks: 'keep' | 'escape';
  readonly escapeFormulas: boolean;
  /** Target size of a part before compression. */
  readonly partBytes: number;
}

export interface ColumnSettings {
  /** Only these columns and the key; `null`: all. */
  readonly include: readonly string[] | null;
  readonly exclude: readonly string[];
  readonly mask: Readonly<Record<string, 'hash' | 'redact'>>;
  /** Fingerprint of the secret that `hash` is keyed with; left out for plain SHA-256. A run fixes it when it begins. */
  readonly maskedWith?: string | undefined;
}

export interface ResourceSettings {
  readonly name: string;
  /** Relative to the base path, without leading or trailing slashes. */
  readonly path: string;
  /** Field names; more than one makes a compound key. */
  readonly key: readonly string[];
  /** `null`: the list shows all records. */
  readonly windowMs: number | null;
  /** The date field that places a record in the window; `null`: unknown. */
  readonly windowField: string | null;
  readonly updatedAtField: string | null;
  /** The service answers GET `<path>/<id>` (docs/service-api.md: projects only). */
  readonly fetchById: boolean;
  readonly badRecords: 'stop' | 'quarantine';
  readonly contract: 'evolve' | 'freeze';
  readonly columns: ColumnSettings;
  readonly deletes: DeletePolicy;
  readonly csv: CsvSettings;
  /** What must hold before a run is published. */
  readonly checks: readonly CheckSettings[];
}

/** Which rows a check sees: all live rows of the snapshot, or those that the run fetched. */
export type CheckScope = 'snapshot' | 'run';

/** What a check requires (docs/how-to/checks.md). Numbers are decimal literals, and shares are in percent. */
export type CheckRule =
  | { readonly kind: 'rows'; readonly min: number | null; readonly max: number | null }
  | {
      readonly kind: 'change';
      /** How far the rows may be from the median of the last days. */
      readonly max: number | null;
      /** Inserted rows, as a share of that median. */
      readonly new: number | null;
      /** Deleted rows, as a share of that median. */
      readonly gone: number | null;
      /** Number of days. */
      readonly over: number;
    }
  | { readonly kind: 'notNull' | 'unique'; readonly field: string }
  | { readonly kind: 'oneOf'; readonly field: string; readonly values: readonly (string | number)[] }
  | {
      readonly kind: 'range';
      readonly field: string;
      readonly min: string | null;
      readonly max: string | null;
    }
  | { readonly kind: 'newest'; readonly field: string; readonly maxAgeMs: number };

/** A check before publish. */
export type CheckSettings = CheckRule & {
  readonly of: CheckScope;
  /** `stop`: the run fails and publishes nothing. `warn`: it publishes with a warning. */
  readonly onFail: 'stop' | 'warn';
};

export interface RetentionSettings {
  readonly snapshotsMs: number;
  /** `last`: earlier runs of a day are removed 24 h after a later one is published. */
  readonly keepPerDay: 'last' | 'all';
}

/** Tables next to the snapshots (docs/explanation/delta-tables.md). */
export interface TableSettings {
  readonly format: 'delta';
  /** Types of columns, by resource and name in the header, such as `double` or `decimal(18,2)`. */
  readonly types: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** What to do with a value that does not fit its type: fail the run before it publishes, or write NULL. */
  readonly badValues: 'stop' | 'clear';
}

export interface ScheduleSettings {
  readonly cron: string;
  readonly timezone: string;
  readonly jitterMs: number;
  readonly catchupWindowMs: number;
  readonly pauseOnFailure: boolean;
}

/** The sending time of a signed notice, which protects against replay. */
interface TimestampSettings {
  /** Contains Unix time in seconds or milliseconds, or an ISO 8601 time in UTC. */
  readonly header: string;
  /** Largest difference from the receiver's clock. */
  readonly toleranceMs: number;
  /** The signed text: the header's text, a dot and the body, or only the body, which leaves the time unprotected. */
  readonly signs: 'timestamp.body' | 'body';
}

/** A keyed hash (RFC 2104) of the notice. */
export interface HmacSettings {
  readonly header: string;
  readonly algorithm: 'hmac-sha1' | 'hmac-sha256' | 'hmac-sha512';
  readonly encoding: 'hex' | 'base64';
  /** Text before the digest in the header, such as `sha256=`. */
  readonly prefix: string;
  readonly secret: SecretRef;
  /** `null`: no timestamp is checked, and only the body is signed. */
  readonly timestamp: TimestampSettings | null;
}

/** A shared secret that the header contains in clear text. */
export interface TokenSettings {
  readonly header: string;
  readonly algorithm: 'token';
  /** Text before the secret in the header, such as `Bearer ` with its space. */
  readonly prefix: string;
  readonly secret: SecretRef;
}

/** How the receiver authenticates a notice. The API does not show the service's method. */
export type SignatureSettings = HmacSettings | TokenSettings;

/**
 * How a service checks the URL before it registers a webhook: by a header that is sent back (`secret`), by a value in a
 * JSON body or in the query of a GET (`challenge`), by a query parameter (`token`), or by any GET (`probe`).
 */
export type HandshakeKind = 'secret' | 'challenge' | 'token' | 'probe';

export interface WebhookSettings {
  /** An IPv6 host has no brackets. */
  readonly listen: { readonly host: string; readonly port: number };
  /** `null`: notices are not signed (configured as `none`; requires a loopback `listen`). */
  readonly signature: SignatureSettings | null;
  /** The handshakes that the receiver answers; empty: none. */
  readonly handshake: readonly HandshakeKind[];
  /** JSON pointer (RFC 6901) to the resource's name, or to the kind of event, in a notice. `*` is every element of a list. */
  readonly resource: string;
  /** Maps the text at the pointer to resources, unless it is a resource's name. A key that ends in `*` is a prefix. */
  readonly kinds: Readonly<Record<string, readonly string[]>>;
  /** The receiver answers a larger notice with 413. */
  readonly maxBodyBytes: number;
}

/** Where alerts are sent (docs/how-to/alerts.md). */
export interface NotifyTarget {
  /** Fingerprint of what follows, without the events and the age: the same in every connection with this target. */
  readonly id: string;
  readonly format: AlertFormat;
  /** A reference if the URL itself is a secret. */
  readonly url: string | SecretRef;
  /** The integration key of PagerDuty; `null` for the other formats. */
  readonly key: SecretRef | null;
  readonly headers: Readonly<Record<string, SecretRef>>;
  readonly on: readonly AlertEvent[];
  /** How old the last published run may be; `null`: as long as the Schedule allows. */
  readonly maxAgeMs: number | null;
}

/** Where an upsert of a calendar entry puts `source` and `sourceKey`. The API leaves this open (docs/reference/configuration.md). */
type UpsertStyle = 'put-path' | 'put-body' | 'post-body';

/** By resource. Default of a path: the path of the mirrored resource with the same name. */
/** Which responses with 2xx show that the service has written a row. */
export interface SuccessRule {
  /** A name or a JSON pointer (RFC 6901) to the id in the record of the response. */
  readonly idField: string;
  /** `empty`: a response without a body counts as well. */
  readonly success: 'record' | 'empty';
}

export interface WriteBackSettings {
  readonly 'time-entries': SuccessRule & { readonly path: string };
  readonly 'calendar-entries': SuccessRule & { readonly path: string; readonly style: UpsertStyle };
  /** How long the service is assumed to remember an idempotency key. The API does not say. */
  readonly unknownAfterMs: number;
  /** Whether receipts use `csv.escapeFormulas`, by resource: the setting of the mirrored resource, or of the connection. */
  readonly escapeFormulas: Readonly<Record<'time-entries' | 'calendar-entries', boolean>>;
}

export interface ConnectionSettings {
  readonly name: string;
  /** `{base_url}` of the API, without a trailing slash and without `/api/public/v2`. */
  readonly baseUrl: string;
  readonly apiKey: SecretRef;
  readonly lake: LakeSettings;
  readonly resources: readonly ResourceSettings[];
  /** What `hash` masks with (HMAC-SHA-256); `null`: plain SHA-256, which can be guessed. */
  readonly masking: { readonly secret: SecretRef } | null;
  readonly retries: { readonly giveUpAfterMs: number };
  readonly errors: ErrorMapping;
  readonly http: HttpSettings;
  /** `lenient`: also accept raw control characters in strings, and NaN as null. */
  readonly json: 'strict' | 'lenient';
  readonly sync: SyncSettings;
  readonly retention: RetentionSettings;
  /** `null`: no tables. */
  readonly tables: TableSettings | null;
  readonly schedule: ScheduleSettings;
  /** `null`: no receiver for this connection. */
  readonly webhook: WebhookSettings | null;
  /** Empty: no alerts. */
  readonly notify: readonly NotifyTarget[];
  /** `null`: no workflow is started after a published run. */
  readonly onPublished: OnPublishedTarget | null;
  readonly writeBack: WriteBackSettings;
}

export interface Settings {
  /** The configuration file, for messages. */
  readonly source: string;
  readonly connections: readonly ConnectionSettings[];
}
