import { WorktrackError } from '../../core/errors.js';

/** A statement that `query` refuses, or that DuckDB cannot run. The message is one sentence for the person who wrote it. */
export class QueryError extends WorktrackError {
  readonly code = 'QUERY';
}
