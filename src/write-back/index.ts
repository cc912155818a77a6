/** The rules of write-back: inputs, row keys, requests, plans and receipts. */

export { checkBatch, readBatch, textColumns } from './batch-file.js';
export { type ChunkLog, type HeldRefusal, type LoggedRow, mergeLogs, type RowState } from './chunk-log.js';
export {
  type CellTypes,
  type InputColumn,
  mixedColumns,
  publishedColumns,
  publishedSnapshotOf,
  type TypeSources,
  typesOf,
  unpublishedColumns,
} from './columns.js';
export { delimiterOf, findDelimiter } from './delimiter.js';
export { decodeInput, encodingOf } from './encoding.js';
export { continuedBatch, findBatch } from './find-batch.js';
export { formatOf } from './format.js';
export { HashTable } from './hash-table.js';
export { BatchHash, idempotencyKey, textHash, uuidV5 } from './identity.js';
export { InputError } from './input-error.js';
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
} from './layout.js';
export {
  type BatchFile,
  CHUNK_BYTES,
  type ChunkRow,
  chunkRows,
  decodeChunk,
  encodeChunk,
  encodeChunkRow,
  isPending,
  kindOf,
  type PlanFile,
  type RowReceipt,
} from './plan-file.js';
export { BatchPlanner, type PlannedRow } from './planner.js';

export { InputFacts, PLAIN_READING } from './reading.js';
export { NOT_WRITTEN, type Receipt, readReceipts } from './receipts.js';
export { type RefusalText, RefusalTexts, readRefusals } from './refusals-file.js';
export { toRequest } from './request.js';
export { judgeResponse, type WriteContext, type WriteVerdict } from './response.js';
export { resultLines, resultOf, resultsHeader } from './results.js';
export { type InputRow, type ReadRowsOptions, readRows } from './rows.js';
export { decodeSealed, encodeSealed } from './sealed.js';
export { type InputSource, openSource } from './source.js';
export { isFinal, type Summary, type WrittenBatch, writtenBatch } from './written.js';
