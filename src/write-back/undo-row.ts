import type { JsonValue } from '../json/value.js';
import {
  cellTextOf,
  type FieldChange,
  isSameValue,
  type NotShown,
  type NowRow,
  type RecordBefore,
} from './compare-published.js';
import type { ChunkRow } from './plan-file.js';
import { fieldsOf, KEPT_BY_SERVICE } from './record-differences.js';
import { isSameState } from './record-state.js';
import type { Receipt } from './results.js';

/** Why a row is not undone (docs/how-to/written-rows.md#undo-a-batch). */
export const WHY_LEFT = [
  'created',
  'unknown',
  'not-kept',
  'not-published',
  'deleted',
  'before-window',
  'not-seen',
  'changed',
] as const;
export type WhyLeft = (typeof WHY_LEFT)[number];

/** Why a field of a row keeps its value: it is not known what it was or is, or it was empty. */
export type WhyKept = 'not-comparable' | 'empty';

export interface KeptField {
  readonly field: string;
  readonly why: WhyKept;
}

/** What an undo does with a row: it is left as it is, or its record gets the values from before. */
export type RowUndo =
  | { readonly kind: 'left'; readonly why: WhyLeft }
  | {
      readonly kind: 'undone';
      /** Everything that is sent, so that a service that replaces records keeps the other values. */
      readonly fields: ReadonlyMap<string, JsonValue>;
      /** Cells that change: from their values now to those from before. Without any, the row is not sent. */
      readonly changes: readonly FieldChange[];
      readonly kept: readonly KeptField[];
    };

/** A row that its batch has sent. */
export interface SentRow
  extends Pick<ChunkRow, 'row' | 'pair' | 'body' | 'before'>,
    Pick<Receipt, 'outcome' | 'id' | 'confirmation'> {}

/**
 * Decides what an undo does with a row. A record is undone only if all of its cells are as the batch has left them: the row's fields as
 * they were sent, and the others as they were before.
 *
 * @param now the record in the snapshot of today @param withNull whether fields that were empty become null
 */
export function undoOf(row: SentRow, now: NowRow, withNull: boolean): RowUndo {
  const { outcome, before, confirmation } = row;
  if (outcome === 'created' || outcome === 'unknown') return left(outcome);
  if (before === undefined) return left('not-kept');
  if (typeof before === 'string' || typeof now === 'string')
    return left(REASONS[typeof before === 'string' ? before : (now as NotShown)]);
  const fields = comparedFields(row.body, before, now);
  const shown = fields.filter((field) => field.was !== null);
  const isAsSent =
    isSameState(before.others, now.others) && shown.every(({ sent, is }) => isSameValue(sent, is));
  if (isAsSent) return restored(fields, withNull);
  if (shown.length === 0 || !shown.every(({ was, is }) => isSameText(was, is))) return left('changed');
  // A service can show a written row late, so the values from before mean something only after the written ones were seen.
  return confirmation === 'confirmed' ? restored(fields, withNull) : left('not-seen');
}

function isSameText(was: JsonValue, is: JsonValue): boolean {
  return was.kind === is.kind && cellTextOf(was) === cellTextOf(is);
}

const REASONS: Readonly<Record<NotShown, WhyLeft>> = {
  new: 'not-published',
  key: 'not-published',
  'not-mirrored': 'not-published',
  deleted: 'deleted',
  'before-window': 'before-window',
};

function left(why: WhyLeft): RowUndo {
  return { kind: 'left', why };
}

/** A field of a row: what was sent, what the record had before, and what it has now; `null`: not known. */
type ComparedField = { readonly field: string; readonly sent: JsonValue } & (
  | { readonly was: JsonValue; readonly is: JsonValue }
  | { readonly was: null }
);

function comparedFields(body: string, before: RecordBefore, now: RecordBefore): readonly ComparedField[] {
  const [then, today] = [before, now].map(({ fields }) => fieldsOf(fields, null)) as [Fields, Fields];
  return [...fieldsOf(body, null)]
    .filter(([field]) => !KEPT_BY_SERVICE.includes(field))
    .map(([field, sent]) => {
      const [was, is] = [then.get(field), today.get(field)];
      return was === undefined || is === undefined ? { field, sent, was: null } : { field, sent, was, is };
    });
}
type Fields = ReadonlyMap<string, JsonValue>;

function restored(compared: readonly ComparedField[], withNull: boolean): RowUndo {
  const fields = new Map<string, JsonValue>();
  const changes: FieldChange[] = [];
  const kept: KeptField[] = [];
  for (const one of compared) {
    const { field, was } = one;
    if (was === null) {
      kept.push({ field, why: 'not-comparable' });
      continue;
    }
    const isChanged = !isSameText(was, one.is);
    if (was.kind === 'null' && !withNull) {
      if (isChanged) kept.push({ field, why: 'empty' });
      continue;
    }
    fields.set(field, was);
    if (isChanged) changes.push({ field, before: cellTextOf(one.is), after: cellTextOf(was) });
  }
  return { kind: 'undone', fields, changes, kept };
}
