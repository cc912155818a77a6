export {
  clashingResources,
  type DaySnapshot,
  DDL_VIEWS,
  type DdlInput,
  type DdlView,
  DIALECTS,
  type Dialect,
  ddlStatements,
  type Numbers,
  renderDdl,
  type Statement,
  unreadableViews,
} from './ddl/statements.js';
export { QueryError } from './query/errors.js';
export {
  type QueryColumn,
  type QueryOptions,
  type QueryResult,
  queryLake,
} from './query/query-lake.js';
export type { QueryValue } from './query/query-value.js';
