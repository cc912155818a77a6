/**
 * The configuration after validation and defaults (docs/reference/configuration.md), as the schema in `schema/` yields it.
 * The schema describes each key. Durations are milliseconds (`…Ms`) and sizes bytes (`…Bytes`); `null` stands for a key that
 * has no value. Secrets are references, never values. `src/config` reads the settings from `worktrack.yaml`.
 */
import type { z } from 'zod';
import type { connection } from './schema/config-schema.js';
import type { CheckRule as ParsedRule } from './schema/schema-checks.js';

export type { ColumnSettings } from './schema/schema-resource.js';
export type { HandshakeKind } from './schema/schema-webhook.js';
export type { SecretRef } from './schema/secret-ref.js';

/** Settings are frozen after they are read. */
type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T;

export interface Settings {
  /** The configuration file, for messages. */
  readonly source: string;
  readonly connections: readonly ConnectionSettings[];
}

export interface ConnectionSettings extends Frozen<z.output<typeof connection>> {
  readonly name: string;
}

export interface ResourceSettings extends Frozen<z.output<typeof connection>['resources'][number]> {}
export interface LakeSettings extends Frozen<z.output<typeof connection>['lake']> {}

export type HttpSettings = ConnectionSettings['http'];
export type ErrorMapping = ConnectionSettings['errors'];
/** A status or a class of them: `429` or `'5xx'`. */
export type StatusPattern = ErrorMapping['refused'][number];
export type CsvSettings = ResourceSettings['csv'];
export type DeletePolicy = ResourceSettings['deletes'];
/** A check before publish (docs/how-to/checks.md). Numbers are decimal literals, and shares are in percent. */
export type CheckSettings = ResourceSettings['checks'][number];
/** What a check requires of the rows that it sees. */
export type CheckRule = Frozen<ParsedRule>;
/** Which rows a check sees: all live rows of the snapshot, or those that the run fetched. */
export type CheckScope = CheckSettings['of'];
export type SyncSettings = ConnectionSettings['sync'];
export type ScheduleSettings = ConnectionSettings['schedule'];
export type RetentionSettings = ConnectionSettings['retention'];
/** Tables next to the snapshots (docs/explanation/delta-tables.md). */
export type TableSettings = NonNullable<ConnectionSettings['tables']>;
/** Where alerts are sent (docs/how-to/alerts.md). */
export type NotifyTarget = ConnectionSettings['notify'][number];
export type WebhookSettings = NonNullable<ConnectionSettings['webhook']>;
/** How the receiver authenticates a notice. The API does not show the service's method. */
export type SignatureSettings = NonNullable<WebhookSettings['signature']>;
/** A shared secret that the header contains in clear text. */
export type TokenSettings = Extract<SignatureSettings, { readonly algorithm: 'token' }>;
/** A keyed hash (RFC 2104) of the notice. */
export type HmacSettings = Exclude<SignatureSettings, TokenSettings>;
export type WriteBackSettings = ConnectionSettings['writeBack'];
/** The form of an idempotency key. */
export type KeyForm = WriteBackSettings['time-entries']['idempotencyKey']['form'];
/** Which responses with 2xx show that the service has written a row. */
export type SuccessRule = Pick<ConnectionSettings['writeBack']['time-entries'], 'idField' | 'success'>;
