/** The record of the rows that batches have written, and the look-up of a file's rows in it. */

export {
  addClaim,
  type Claim,
  type ClaimedState,
  ClaimRecords,
  claimedState,
  closeClaim,
  readClaim,
} from './claim.js';
export { fenceKey } from './entries.js';
export { FileRows } from './file-rows.js';
export {
  doubtfulText,
  FindingCounter,
  type Findings,
  policyOf,
  problemOf,
  writtenText,
} from './findings.js';
export { lookUpRows } from './look-up.js';
export { tidyLedger } from './merge.js';
export { cellsHash, keyHash, type OwnState, type PlannedState, RowHashes } from './row-hashes.js';
export type { FoundRow } from './tally.js';
export { NOT_SENT_AGAIN, Turn, type TurnFile, type TurnVerdict, TurnVerdicts } from './turn.js';
