/** The rules of write-back: inputs, row keys, requests, plans and receipts. */

export { checkBatch, continuedBatch, findBatch, readBatch, textColumns } from './batch-file.js';
export {
  batchKey,
  checkBatchId,
  chunkKey,
  hashesKey,
  inputKey,
  inputSha256,
  logKey,
  logsPrefix,
  parseLogKey,
  parseTurnKey,
  planKey,
  planName,
  plansPrefix,
  refusalsKey,
  resultsKey,
  summaryKey,
  turnKey,
  turnsPrefix,
} from './batch-layout.js';
export type { InputRow } from './fields.js';
export { HashTable } from './hash-table.js';
export { BatchHash, idempotencyKey, textHash, uuidV5 } from './idempotency-key.js';
export {
  type CellTypes,
  type InputColumn,
  mixedColumns,
  publishedColumns,
  publishedSnapshotOf,
  type TypeSources,
  typesOf,
  unpublishedColumns,
} from './input-columns.js';
export { InputError } from './input-error.js';
export { formatOf } from './input-format.js';
export { readRows } from './input-rows.js';
export { type InputSource, openSource } from './input-source.js';
export {
  type BatchFile,
  CHUNK_BYTES,
  type ChunkLog,
  type ChunkRow,
  chunkRows,
  decodeChunk,
  encodeChunk,
  encodeChunkRow,
  isPending,
  isWritten,
  kindOf,
  type LoggedRow,
  mergeLogs,
  type PlanFile,
  type RowReceipt,
  type RowState,
} from './plan-file.js';
export { BatchPlanner, type PlannedRow } from './planner.js';
export { InputFacts } from './reading.js';
export {
  NOT_WRITTEN,
  type Receipt,
  type RefusalText,
  RefusalTexts,
  readReceipts,
  readRefusals,
  resultLines,
  resultOf,
  resultsHeader,
  type Summary,
  type WrittenBatch,
  writtenBatch,
} from './results.js';
export { decodeSealed, encodeSealed } from './sealed.js';
export { judgeResponse, toRequest, type WriteVerdict } from './write-request.js';
