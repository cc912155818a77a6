import type { ObjectKey, RunId, UtcSeconds } from '../core/brands.js';
import type { ExtractResult, RunMode } from '../core/contract.js';
import type { HttpSettings, ResourceSettings, RetentionSettings, SyncSettings } from '../core/settings.js';
import type { PublishedPart } from './manifest.js';
import type { Profile } from './profile.js';
import type { Column } from './schema.js';

/** The snapshot that a run starts from. */
export interface Before {
  readonly runId: RunId;
  readonly etag: string;
  readonly manifest: ObjectKey;
  readonly checkpoint: UtcSeconds;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly rows: number;
  readonly fingerprint: string;
  readonly columns: readonly Column[];
  readonly parts: readonly PublishedPart[];
  /** How its rows are written. */
  readonly profile: Profile;
}

/**
 * What a run keeps to from its beginning to its end, whatever becomes of the configuration meanwhile (DESIGN 2).
 * Written once, below the run's staging folder; it holds no secret.
 */
export interface RunFile {
  readonly connection: string;
  readonly baseUrl: string;
  readonly resource: ResourceSettings;
  readonly sync: SyncSettings;
  readonly http: HttpSettings;
  readonly runId: RunId;
  readonly mode: RunMode;
  /** What the lists are asked for; `null` for everything. */
  readonly updatedSince: UtcSeconds | null;
  readonly checkpoint: UtcSeconds | null;
  readonly startedAt: number;
  /**
   * When reading began, by the workflow's clock: before `startedAt` in a run that goes on from a failed one's pages.
   * Milliseconds since 1970.
   */
  readonly readSince: number;
  readonly nominalStart: number;
  readonly before: Before | null;
  readonly warnings: readonly string[];
  readonly giveUpAfterMs: number;
  readonly retention: RetentionSettings;
  /** Whether the run may conclude deletes (DESIGN 3.5). */
  readonly reconcile: boolean;
  /** Data columns that are known when the run begins: those of the snapshot before, and what a rollback left behind. */
  readonly columns: readonly Column[];
  /** What a failed run had staged, taken over. */
  readonly resumed: { readonly runId: RunId; readonly extracted: ExtractResult } | null;
  /** Manifests of the change logs of runs that were rolled back, oldest first. */
  readonly leftBehind: readonly ObjectKey[];
}

export const RUN_FILE = 'run.json';
