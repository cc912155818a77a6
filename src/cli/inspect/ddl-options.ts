import type { Numbers, Statement } from '../../lake/ddl/statements.js';
import type { DeltaDialect } from '../../table/index.js';
import type { SeveralOptions } from '../shared/options.js';

export interface DdlCommandOptions extends SeveralOptions {
  readonly dialect: DeltaDialect;
  /** Register the Delta tables instead of the CSV files. */
  readonly delta?: boolean;
  readonly resource?: readonly string[];
  readonly numbers: Numbers;
  readonly dt?: string;
  /** Print the connection to the store as statements, not as comments. */
  readonly setup?: boolean;
}

/** How to read one connection. */
export interface DdlScope {
  readonly dt: string | undefined;
  readonly timeoutMs?: number;
  /** Names of views and tables begin with the connection. */
  readonly isPrefixed?: boolean;
}

/** The statements for one connection. */
export interface ConnectionDdl {
  /** Number of resources that they read. */
  readonly resources: number;
  readonly statements: readonly Statement[];
}

/** Name of the views or table of a resource, before it is made plain. */
export function viewOf(connection: string, resource: string): string {
  return `${connection}_${resource}`;
}
