export { checkTable } from './check-table.js';
export { checkValues } from './check-values.js';
export type { TableTask } from './commit-state.js';
export { TableError } from './errors.js';
export { type Followed, followPointer, followPointerAndForget } from './follow-pointer.js';
export { dataKey, tablePrefix } from './log/names.js';
export { parquetLibrary } from './parquet/library.js';
export { readTableColumns } from './read-columns.js';
export {
  DELTA_DIALECTS,
  type DeltaDialect,
  type RegisterInput,
  registerStatements,
} from './register/statements.js';
export type { FixedTypes, TableColumn } from './rules/columns.js';
export { verifyResource } from './verify-resource.js';
