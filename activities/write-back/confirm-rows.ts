import { Context } from '@temporalio/activity';
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
import { askById, type RecordAnswer } from '../../src/run/settle/ask-by-id.js';
import { batchKeys } from '../../src/write-back/batch-layout.js';
import { PublishedRows } from '../../src/write-back/compare-published.js';
import { type Confirmations, readConfirmations } from '../../src/write-back/confirmations.js';
import { publishedSnapshotOf } from '../../src/write-back/input-columns.js';
import type { PlannedRow } from '../../src/write-back/planner.js';
import {
  differencesOf,
  type FieldDifference,
  fieldsOf,
  hiddenFields,
  recordOfText,
  type ShownRecord,
} from '../../src/write-back/record-differences.js';
import { readResults, summarizedPlan } from '../../src/write-back/results.js';
import { readStoredPlans } from './stored-batch.js';

const MAX_SWAPS = 5;
/** Rows that are looked up together. */
const BLOCK_ROWS = 2000;
/** Records that one look requests by their ids. The increments find the others. */
const MAX_ASKED = 500;
/** By how much the clocks that are involved may differ. */
const CLOCKS_MS = HOUR_MS;

/**
 * Looks for the written rows of a batch that are not confirmed yet: in the published snapshot, and by id where the service has that
 * (docs/how-to/written-rows.md#confirmations). What was found is in `confirmations.json`.
 */
export async function confirmRows(deps: ActivityDeps, input: BatchRef): Promise<ConfirmedRows> {
  const connection = deps.connection(input.connection);
  const { store, settings } = connection;
  const plan = await summarizedPlan(store, input.batchId);
  const plans = await readStoredPlans(store, input.batchId);
  // The batch can have written other inputs before.
  const first = plan && plans.find(({ file }) => file.input === plan.file.input);
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
    return { counts: found.counts, open: look.open, since };
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
  /** The id of a row that is confirmed. */
  #confirmed: string | null = null;
  /** Whether the service has shown a record by its id. */
  #hasShown = false;
  /** The rows that the service has denied by id. */
  readonly #denied: number[] = [];
  /** The rows that are not listed, but may be later. */
  readonly #unclear = new Set<number>();

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

  /** Rows that another look may find. */
  get open(): number {
    const { differs, notSeen } = this.found.counts;
    return differs + notSeen + this.#unclear.size;
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
      const isConfirmed = this.found.of(receipt.row) === 'confirmed';
      if (isConfirmed) this.#confirmed ??= receipt.id;
      if (planned === null || isConfirmed) continue;
      block.push({ ...planned, id: receipt.id });
      if (block.length < BLOCK_ROWS) continue;
      await this.#lookFor(block);
      block = [];
    }
    await this.#lookFor(block);
    await this.#settleDenied();
  }

  async #lookFor(rows: readonly WrittenRow[]): Promise<void> {
    const { cancellationSignal } = Context.current();
    const published = await this.published.find(rows, cancellationSignal);
    for (const row of rows) {
      cancellationSignal.throwIfAborted();
      const listing = this.published.listingOf(row, published);
      const judged = this.#judge(row, this.published.recordOf(row, published));
      const isKnown = judged.verdict === 'confirmed' || listing === 'shown';
      const listed: Judged = isKnown ? judged : { verdict: 'notListed', differs: [] };
      const { verdict, differs } = listed.verdict === 'confirmed' ? listed : await this.#byId(row, listed);
      this.found.set(row.row, verdict, differs);
      if (verdict === 'confirmed') this.#confirmed ??= row.id;
      if (verdict === 'notListed' && listing === 'unclear') this.#unclear.add(row.row);
    }
  }

  #judge(row: WrittenRow, record: ShownRecord | null): Judged {
    if (record === null) return { verdict: 'notSeen', differs: [] };
    const hidden = [...fieldsOf(row.body, row.pair).keys()].filter(this.#isHidden);
    const ignore = [...this.#ignore, ...hidden];
    const options = { ignore, isHidden: this.#isHidden, redact: redactKnown };
    const differs = differencesOf(row, record, options)?.differs ?? [];
    return { verdict: differs.length === 0 ? 'confirmed' : 'differs', differs };
  }

  /** What the record says that the service shows by its id; what the list says, if it does not show it. */
  async #byId(row: WrittenRow, listed: Judged): Promise<Judged> {
    // The last request is for the control.
    if (row.id === null || this.#left <= 1) return listed;
    let judged = listed;
    const answer = await this.#ask(row.id, (text) => {
      judged = this.#judge(row, recordOfText(text));
    });
    if (answer === 'gone' && listed.verdict === 'notListed') this.#denied.push(row.row);
    return judged;
  }

  /** A path that is wrong denies every record, so a denial counts only if the service shows another record by its id. */
  async #settleDenied(): Promise<void> {
    if (this.#denied.length === 0) return;
    if (!this.#hasShown && this.#confirmed !== null && this.#left > 0) await this.#ask(this.#confirmed);
    if (!this.#hasShown) return;
    for (const row of this.#denied) {
      this.found.set(row, 'notSeen');
      this.#unclear.delete(row);
    }
  }

  /** Requests a record. After a failure, this look requests no other one. */
  async #ask(id: string, onRecord: (text: ByteString) => void = () => {}): Promise<RecordAnswer> {
    const { cancellationSignal: signal } = Context.current();
    const { name: resource, path } = this.#settings!;
    const { idField } = this.connection.settings.writeBack[this.input.resource];
    const keyField = idField.slice(idField.lastIndexOf('/') + 1);
    this.#left--;
    try {
      const answer = await askById(
        this.connection.client,
        { resource, path, id, signal },
        keyField,
        onRecord,
      );
      if (answer === 'found') this.#hasShown = true;
      return answer;
    } catch {
      signal.throwIfAborted();
      this.#left = 0;
      return 'unclear';
    }
  }
}

interface Judged {
  readonly verdict: ConfirmationVerdict;
  readonly differs: readonly FieldDifference[];
}
