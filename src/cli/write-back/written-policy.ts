import type { SystemPolicy, WrittenPolicy } from '../../core/contract/write-back.js';
import { InputError } from '../../core/input-error.js';
import type { ObjectStore } from '../../lake/store/index.js';
import type { CheckedInput } from '../../write-back/check-write-back.js';
import { lookUpRows } from '../../write-back/ledger/look-up.js';
import {
  FindingCounter,
  foundText,
  type LedgerFindings,
  policyOf,
  problemOf,
  Turn,
  TurnVerdicts,
} from '../../write-back/ledger/turn.js';
import { canPrompt, withPrompter } from '../setup/prompt.js';
import { UsageError } from '../shared/choose-exit-code.js';
import { age, counted, output } from '../shared/output.js';

/** Rows of a file that earlier batches have written, or may have written. */
interface EarlierRows {
  readonly findings: LedgerFindings;
  /** The verdicts about these rows. */
  readonly turn: Turn;
  /** Where the rows are to be sent. */
  readonly baseUrl: string;
}

/** The policy of the options; `undefined` without one. @throws UsageError */
export function askedPolicy(options: {
  readonly again?: boolean;
  readonly skipWritten?: boolean;
}): WrittenPolicy | undefined {
  const { again, skipWritten } = options;
  if (again === true && skipWritten === true)
    throw new UsageError('--again and --skip-written exclude each other.');
  if (again === true) return 'again';
  return skipWritten === true ? 'skip' : undefined;
}

/** What the options say about addresses that are not known. @throws UsageError */
export function askedSystem(options: {
  readonly sameSystem?: boolean;
  readonly otherSystem?: boolean;
}): SystemPolicy | undefined {
  const { sameSystem, otherSystem } = options;
  if (sameSystem === true && otherSystem === true)
    throw new UsageError('--same-system and --other-system exclude each other.');
  if (sameSystem === true) return 'same';
  return otherSystem === true ? 'other' : undefined;
}

/** Looks the rows of a file up. Rows of a batch that has not ended count as rows that may have been written. */
export async function findEarlierRows(
  store: ObjectStore,
  { fileRows, resource, batchId, system }: CheckedInput,
): Promise<EarlierRows | null> {
  if (fileRows === null) return null;
  const { hashes } = fileRows;
  const { tally } = await lookUpRows(store, hashes, {
    resource,
    batchId,
    system,
    ownClaims: null,
    stateOf: async () => () => 'doubtful',
    signal: null,
  });
  const found = new FindingCounter();
  const verdicts = new TurnVerdicts(hashes.rows, batchId);
  for (const one of tally.find()) {
    found.add(one);
    if (one.by !== null) verdicts.add(one, 'report');
  }
  const turn = new Turn(resource, verdicts.file(null, []));
  return { findings: found.result(hashes.isKeyed, hashes.rows), turn, baseUrl: system.baseUrl };
}

/**
 * Decides what happens to rows that earlier batches have written. Without a key column, it asks on a terminal.
 *
 * @throws InputError if the batch must not start; DetachedError after Ctrl-C
 */
export async function choosePolicy(
  earlier: EarlierRows | null,
  asked: WrittenPolicy | undefined,
  { json }: { readonly json?: boolean },
): Promise<WrittenPolicy | undefined> {
  if (earlier === null) return asked;
  const { findings, baseUrl } = earlier;
  const problem = problemOf(findings, { policy: policyOf(asked, findings.isKeyed), baseUrl }, ago);
  if (problem === null) return asked;
  const isAsked = json !== true && canPrompt();
  if (!isAsked || findings.changed.count + findings.elsewhere.count > 0)
    throw new InputError(problem.problem, { remedy: `Nothing was sent. ${problem.remedy}` });
  output.note(`${problem.problem}.`);
  const answer = await withPrompter('Nothing was sent.', (prompter) =>
    prompter.ask({
      text: 'Type skip to send only the other rows, or again to write these rows again',
      check: (text) =>
        text === 'skip' || text === 'again' ? null : 'type skip or again, or press Ctrl-C to send nothing',
    }),
  );
  return answer as WrittenPolicy;
}

/** What happens to the rows that were found, for stderr. */
export function earlierLines(earlier: EarlierRows | null, asked: WrittenPolicy | undefined): string[] {
  if (earlier === null) return [];
  const { findings, baseUrl } = earlier;
  const policy = policyOf(asked, findings.isKeyed);
  const problem = problemOf(findings, { policy, baseUrl }, ago);
  if (problem !== null) return [`${problem.problem}. Nothing is sent. ${problem.remedy}`];
  return (['written', 'doubtful'] as const).flatMap((kind) => {
    const text = foundText(findings, kind, ago);
    if (text === null) return [];
    const fate = kind === 'written' ? 'skipped' : 'not sent';
    const what = policy === 'again' ? 'written again' : fate;
    return [`${text}; ${findings[kind].count === 1 ? 'it is' : 'they are'} ${what}`];
  });
}

/** Why a row is not sent, by its number from 1; `null` if it is. */
export function unsentRow(
  earlier: EarlierRows | null,
  asked: WrittenPolicy | undefined,
): (row: number) => 'skipped' | 'unknown' | null {
  if (earlier === null || policyOf(asked, earlier.findings.isKeyed) === 'again') return () => null;
  return (row) => earlier.turn.verdictOf(row)?.outcome ?? null;
}

/** Rows that occur more than once in the file. */
export function repeatedWarnings({ fileRows, keyColumn }: CheckedInput): string[] {
  if (fileRows === null || fileRows.repeated.rows === 0) return [];
  const { rows, first } = fileRows.repeated;
  const what = `${counted(rows, 'row')} of the file ${rows === 1 ? 'equals' : 'equal'} an earlier row of it (the first is row ${first})`;
  if (keyColumn === null) return [`warning: ${what}. Each of them is written.`];
  return [
    `warning: ${counted(rows, 'row')} of the file ${rows === 1 ? 'has' : 'have'} the key of an earlier row of it (the first is row ${first}), and ${rows === 1 ? 'is' : 'are'} not sent.`,
  ];
}

function ago(at: number): string {
  return `${age(Date.now() - at)} ago`;
}
