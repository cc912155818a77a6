import { Context } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { ObjectKey } from '../../src/core/brands.js';
import {
  type ClaimRowsInput,
  type UnknownPolicy,
  type WrittenPolicy,
  writeBackWorkflowId,
} from '../../src/core/contract/write-back.js';
import { attemptToken } from '../../src/run/activity-context.js';
import type { ActivityDeps } from '../../src/run/deps.js';
import { finalFailure } from '../../src/run/failures.js';
import { readBatch } from '../../src/write-back/batch-file.js';
import { planKeys } from '../../src/write-back/batch-layout.js';
import { addClaim, type Claim, ClaimRecords } from '../../src/write-back/ledger/claim.js';
import { type FoundRow, lookUpRows } from '../../src/write-back/ledger/look-up.js';
import { RowHashes } from '../../src/write-back/ledger/row-hashes.js';
import { FindingCounter, policyOf, problemOf, TurnVerdicts } from '../../src/write-back/ledger/turn.js';
import { encodeSealed } from '../../src/write-back/sealed.js';
import { readTargetSystem } from '../../src/write-back/system.js';
import { chunksOfRows, endClaim, readClaimedStates, readOwnClaims, readOwnStates } from './claim-states.js';
import { checkSystem, readPlan } from './stored-batch.js';

/** How often the look-up is repeated because other batches have added claims meanwhile. */
const MAX_CLAIMS = 20;

/**
 * Looks the rows of a plan up in the ledger, and claims those that are to be sent. Call it when the turn of the batch has
 * come. From here until the claim is closed, other batches see these rows as rows that may have been written: a row is in
 * the ledger before it is sent.
 */
export async function claimRows(
  deps: ActivityDeps,
  {
    connection,
    resource,
    batchId,
    plan: planKey,
    keyColumn,
    written,
    unknown,
    system: asked,
  }: ClaimRowsInput,
): Promise<ObjectKey> {
  const { store, settings } = deps.connection(connection);
  const { cancellationSignal: signal, info } = Context.current();
  const { workflowExecution, activityId, namespace } = info;
  const plan = await readPlan(store, planKey);
  checkSystem(plan, { resource, deps, settings });
  const { baseUrl } = plan.file;
  const batch = await readBatch(store, batchId);
  const system = (await readTargetSystem(store, settings, asked)).alsoAt(batch?.file.sameAs ?? []);
  const key = planKeys(planKey).hashes(plan.file.writer);
  const hashes = RowHashes.decode(key, await store.read(key), keyColumn !== null, plan.file.rows);
  const policy = policyOf(written, keyColumn !== null);
  const workflowId = writeBackWorkflowId({ connection, resource, batchId });
  // The same for all attempts of this activity.
  const token = `${workflowExecution!.runId}-${activityId}`;
  for (let tries = 1; tries <= MAX_CLAIMS; tries++) {
    await readOwnStates(store, plan, hashes);
    let mine: Claim | null = null;
    const stateOf = async (claim: Claim) => {
      if (claim.token === token) mine = claim;
      if (!(await isEnded(claim, { token, batchId, namespace })))
        return readClaimedStates(store, claim, 'running');
      await endClaim(store, resource, claim, deps.now());
      return null;
    };
    const { listing, tally } = await lookUpRows(store, hashes, {
      ...{ resource, batchId, system, stateOf, signal },
      ownClaims: await readOwnClaims(store, batchId),
    });
    // An earlier attempt has made the claim, and its result was lost.
    if (mine !== null) return (mine as Claim).turn;
    const found = new FindingCounter();
    const verdicts = new TurnVerdicts(hashes.rows, batchId);
    const records = ClaimRecords.sized(hashes.isKeyed, hashes.rows);
    const chunks = chunksOfRows(plan);
    for (const one of tally.find()) {
      const state = hashes.stateOf(one.row);
      const isOpen = state === 'open';
      // A row that is left is not a reason to stop.
      if (isOpen) found.add(one);
      const isSent = isOpen && mustSend(one, policy, unknown);
      if (isOpen ? !isSent : state === 'left' && isKnown(one)) verdicts.add(one, unknown);
      if (isSent) chunks.add(one.row);
      if (isSent || one.wasDoubtful) records.add(hashes, one.row, one.wasDoubtful);
    }
    const findings = found.result(hashes.isKeyed, hashes.rows);
    const problem = problemOf(findings, { policy, baseUrl }, (at) => new Date(at).toISOString());
    if (problem !== null) {
      const text = `${problem.problem}. Nothing was sent. ${problem.remedy}`;
      throw finalFailure('Configuration', `${resource}: ${text}`);
    }
    const claim = records.rows === 0 ? null : listing.next;
    const turn = planKeys(planKey).turn(`${attemptToken()}-${tries}`, claim);
    await store.write(turn, encodeSealed(verdicts.file(claim, chunks.numbers)));
    if (claim === null) return turn;
    signal.throwIfAborted();
    const { isKeyed } = hashes;
    const who = { token, batchId, workflowId, namespace, plan: planKey, turn, isKeyed, baseUrl };
    if ((await addClaim(store, resource, listing, who, records)) !== null) return turn;
  }
  throw finalFailure(
    'Lake',
    `${resource}: other batches keep claiming rows at the same time. Run the same command again.`,
  );
}

/** Whether the ledger has a verdict about a row that no one has asked for. Other findings stop the run that sends it. */
function isKnown({ finding }: FoundRow): boolean {
  return finding === 'own' || finding === 'written' || finding === 'doubtful';
}

/** Whether a row without an outcome is sent. A batch never writes a row twice, whatever the policy is. */
function mustSend({ finding, by }: FoundRow, policy: WrittenPolicy, unknown: UnknownPolicy): boolean {
  if (finding === 'own') return false;
  // The logs that said when it was sent are gone.
  if (finding === 'doubtful' && by === null) return unknown === 'resend';
  return finding === 'new' || policy === 'again';
}

/**
 * Whether the batch of a claim no longer sends its rows. A batch of another namespace may still run. The answer needs not
 * be certain: a claim is fenced before it is closed.
 */
async function isEnded(
  claim: Claim,
  own: Readonly<Record<'token' | 'batchId' | 'namespace', string>>,
): Promise<boolean> {
  if (claim.token === own.token || claim.namespace !== own.namespace) return false;
  // A batch has one workflow: an earlier run of it has ended.
  if (claim.batchId === own.batchId) return true;
  try {
    const handle = Context.current().client.workflow.getHandle(claim.workflowId);
    return (await handle.describe()).status.name !== 'RUNNING';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return true;
    throw error;
  }
}
