import { Context } from '@temporalio/activity';
import { TransientError } from '../../src/api/index.js';
import type { ByteString } from '../../src/core/brands.js';
import {
  type BatchRef,
  type ConfirmationVerdict,
  type ConfirmedRows,
  shownBatchId,
} from '../../src/core/contract/write-back.js';
import { HOUR_MS } from '../../src/core/duration.js';
import { redactKnown } from '../../src/core/known-secrets.js';
import { toUtcSeconds } from '../../src/core/utc-time.js';
import { writeIfUnchanged } from '../../src/lake/published/swap.js';
import type { ActivityDeps, OpenConnection } from '../../src/run/deps.js';
import { finalFailure } from '../../src/run/failures.js';
import { askById, isWebPage, seemsRefused } from '../../src/run/settle/ask-by-id.js';
import { batchKeys } from '../../src/write-back/batch-layout.js';
import { PublishedRows } from '../../src/write-back/compare-published.js';
import { type Confirmations, readConfirmations } from '../../src/write-back/confirmations.js';
import { publishedSnapshotOf } from '../../src/write-back/input-columns.js';
import type { PlannedRow } from '../../src/write-back/planner.js';
import {
  differencesOf,
  type FieldDifference,
  hiddenFields,
  recordOfText,
  type ShownRecord,
} from '../../src/write-back/record-differences.js';
import { readResults, summarizedPlan } from '../../src/write-back/results.js';
import { readStoredPlans } from './stored-batch.js';

const MAX_SWAPS = 5;
/** Rows that are looked up together. */
const BLOCK_ROWS = 10_000;
/** Records that one look requests by their ids. The increments find the others. */
const MAX_ASKED = 500;
/** By how much the clocks that are involved may differ. */
const CLOCKS_MS = HOUR_MS;

/**
 * Looks for the written rows of a batch that are not confirmed yet: in the published snapshot, and by id where the service has that
 * (docs/how-to/write-back.md#confirmations). What was found is in `confirmations.json`.
 */
export async function confirmRows(deps: ActivityDeps, input: BatchRef): Promise<ConfirmedRows> {
  const connection = deps.connection(input.connection);
  const { store, settings } = connection;
  const plan = await summarizedPlan(store, input.batchId);
  const [first] = await readStoredPlans(store, input.batchId);
  const begun = first && (await store.head(first.key));
  if (plan === null || begun == null)
    throw finalFailure('Lake', `the state of batch ${shownBatchId(input.batchId)} was removed from the lake`);
  const since = toUtcSeconds(begun.modifiedAt - CLOCKS_MS);
  for (let swap = 1; swap <= MAX_SWAPS; swap++) {
    const { found, etag } = await readConfirmations(store, input.batchId, plan.file.input);
    const published = await publishedSnapshotOf(store, input.resource);
    const compared = { resource: input.resource, published, now: deps.now() };
    const look = new Look(connection, input, found, new PublishedRows(store, settings, compared));
    await look.all();
    const key = batchKeys(input.batchId).confirmations;
    const expected = etag === null ? 'absent' : { etag };
    if ((await writeIfUnchanged(store, key, found.encode(), expected)) !== 'written') continue;
    const { counts } = found;
    return { counts, open: counts.differs + counts.notSeen, since };
  }
  throw finalFailure(
    'Lake',
    `batch ${shownBatchId(input.batchId)}: other looks keep changing its confirmations`,
  );
}

/** A written row, with the id of its record. */
type WrittenRow = PlannedRow & { readonly id: string | null };

class Look {
  readonly #ignore: readonly string[];
  readonly #isHidden: (field: string) => boolean;
  /** Records that may still be requested by id. */
  #left: number;

  constructor(
    private readonly connection: OpenConnection,
    private readonly input: BatchRef,
    private readonly found: Confirmations,
    private readonly published: PublishedRows,
  ) {
    const { settings } = connection;
    this.#ignore = settings.writeBack[input.resource].ignore;
    this.#isHidden = hiddenFields(settings, input.resource);
    this.#left = this.#settings?.fetchById === true ? MAX_ASKED : 0;
  }

  get #settings() {
    return this.connection.settings.resources.find(({ name }) => name === this.input.resource);
  }

  async all(): Promise<void> {
    let block: WrittenRow[] = [];
    const written = { outcomes: ['created', 'updated'] } as const;
    for await (const { receipt, planned } of readResults(
      this.connection.store,
      this.input.batchId,
      written,
    )) {
      if (planned === null || this.found.of(receipt.row) === 'confirmed') continue;
      block.push({ ...planned, id: receipt.id });
      if (block.length < BLOCK_ROWS) continue;
      await this.#lookFor(block);
      block = [];
    }
    await this.#lookFor(block);
  }

  async #lookFor(rows: readonly WrittenRow[]): Promise<void> {
    const { cancellationSignal } = Context.current();
    const published = await this.published.find(rows, cancellationSignal);
    for (const row of rows) {
      cancellationSignal.throwIfAborted();
      const listed = this.#judge(row, this.published.recordOf(row, published));
      const { verdict, differs } = listed.verdict === 'confirmed' ? listed : await this.#byId(row, listed);
      this.found.set(row.row, verdict, differs);
    }
  }

  #judge(row: WrittenRow, record: ShownRecord | null): Judged {
    if (record === null)
      return { verdict: this.published.isBeforeWindow(row) ? 'notListed' : 'notSeen', differs: [] };
    const options = { ignore: this.#ignore, isHidden: this.#isHidden, redact: redactKnown };
    const differs = differencesOf(row, record, options)?.differs ?? [];
    return { verdict: differs.length === 0 ? 'confirmed' : 'differs', differs };
  }

  /** What the record says that the service shows by its id; what the list says, if it does not show it. */
  async #byId(row: WrittenRow, listed: Judged): Promise<Judged> {
    const resource = this.#settings;
    if (row.id === null || resource === undefined || this.#left === 0) return listed;
    this.#left--;
    const { cancellationSignal: signal } = Context.current();
    const { idField } = this.connection.settings.writeBack[this.input.resource];
    const request = { resource: resource.name, path: resource.path, id: row.id, signal };
    let judged = listed;
    const onRecord = (text: ByteString): void => {
      judged = this.#judge(row, recordOfText(text));
    };
    try {
      const answer = await askById(
        this.connection.client,
        request,
        idField.slice(idField.lastIndexOf('/') + 1),
        onRecord,
      );
      if (answer === 'gone' && listed.verdict === 'notListed') return { verdict: 'notSeen', differs: [] };
    } catch (error) {
      if (!(error instanceof TransientError) || !(isWebPage(error) || seemsRefused(error))) throw error;
      this.#left = 0;
    }
    return judged;
  }
}

interface Judged {
  readonly verdict: ConfirmationVerdict;
  readonly differs: readonly FieldDifference[];
}
