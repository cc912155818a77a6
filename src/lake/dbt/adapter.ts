import type { LakeSettings } from '../../core/settings.js';
import type { ProjectFile } from './file.js';
import type { ModelEngine } from './models.js';
import type { DbtResource } from './resource.js';

/** How a source table is read, and how its age is measured; merged into its entry in the YAML file. */
export interface SourceTable {
  /** Expression for the time at which data was loaded. */
  readonly loadedAt: string;
  /** Condition of the query that measures the age. */
  readonly filter?: string;
  /** Settings below `config.meta`. */
  readonly meta?: Readonly<Record<string, string>>;
}

/** What differs between dbt-duckdb and dbt-athena. */
export interface DbtAdapter extends ModelEngine {
  /** Settings of all source tables. */
  readonly source: Readonly<Record<string, string>>;
  /** The published change logs as text. */
  readonly changes: (resource: DbtResource) => SourceTable;
  /** The pointer to the last published run. */
  readonly latest: (resource: DbtResource) => SourceTable;
  /** The output in `profiles.yml`. It contains no secrets. */
  readonly profile: (connection: string, lake: LakeSettings) => object;
  /** Files that only this adapter needs. */
  readonly files: (resources: readonly DbtResource[]) => ProjectFile[];
}
