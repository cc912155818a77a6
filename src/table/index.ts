export { checkValues } from './check-values.js';
export type { TableTask } from './commit-state.js';
export { TableError } from './errors.js';
export { type FilesToWrite, filesToWrite } from './files-to-write.js';
export { type Followed, followPointer, followPointerAndForget } from './follow-pointer.js';
export { readTableColumns } from './log/read-table.js';
export { requireParquet } from './parquet/engine.js';
export type { FixedTypes, TableColumn } from './rules/table-columns.js';
export { checkTable, verifyResource } from './verify-table.js';
