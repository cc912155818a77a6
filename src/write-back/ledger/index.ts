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
export { fenceKey, tidyLedger } from './entries.js';
export { type FoundRow, lookUpRows } from './look-up.js';
export { cellsHash, FileRows, keyHash, type OwnState, RowHashes } from './row-hashes.js';
export {
  doubtfulText,
  FindingCounter,
  type Findings,
  NOT_SENT_AGAIN,
  policyOf,
  problemOf,
  Turn,
  type TurnFile,
  TurnVerdicts,
  writtenText,
} from './turn.js';
