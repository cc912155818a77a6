import { isDeepStrictEqual } from 'node:util';
import { InputError } from '../../core/input-error.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { shellWord } from '../../core/short-text.js';
import type { ObjectStore } from '../../lake/store/index.js';
import {
  type CheckedInput,
  checkWriteBack,
  type WriteBackSource,
  writableResource,
} from '../../write-back/check-write-back.js';
import { InputProblems, type ProblemKind } from '../../write-back/input-problems.js';
import { openInput } from '../../write-back/open-input.js';
import { proposeOptions } from '../../write-back/propose-options.js';
import type { ReadingOptions } from '../../write-back/resolve-reading.js';
import { EXIT, type ExitCode } from '../shared/choose-exit-code.js';
import type { GlobalOptions } from '../shared/command-options.js';
import { counted, output, printJson } from '../shared/output.js';
import { optionWords } from './input-options.js';

/** A dry run reads the whole file and lists all of its errors. Every other run stops at the first. */
export async function checkForDryRun(
  connection: ConnectionSettings,
  store: ObjectStore,
  request: WriteBackSource,
  options: GlobalOptions,
): Promise<CheckedInput | ExitCode> {
  const { input, problems } = await checkAll(connection, store, request);
  if (input !== null && problems.kinds.length === 0) return input;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const proposed = completeLists(
    proposeOptions(problems.kinds, zone),
    request,
    await optionsInUse(connection, request),
  );
  const given = optionWords(proposed);
  const rest = given.length === 0 ? null : await checkAll(connection, store, withOptions(request, proposed));
  // Options that correct nothing are no advice.
  const isBetter = rest !== null && !isDeepStrictEqual(named(rest.problems), named(problems));
  const words = isBetter ? given : [];
  // One error is printed as in every other run.
  const [only, ...more] = problems.kinds;
  if (only !== undefined && more.length === 0 && only.count === 1 && words.length === 0) throw only.first;
  const left = isBetter ? rest.problems.kinds : null;
  if (options.json === true) {
    const listed = problems.kinds.map(described);
    printJson({
      problems: listed,
      others: problems.others,
      options: words,
      remaining: left?.map(described) ?? null,
    });
  } else {
    printProblems(problems, words, left);
    if (words.includes('--timezone'))
      output.note(
        `${zone} is the time zone of this machine: replace it by that of the file, such as Europe/Berlin.`,
      );
  }
  return EXIT.usage;
}

function named({ kinds, others }: InputProblems) {
  return [kinds.map(({ first, count }) => [first.kind, count]), others];
}

interface AllProblems {
  /** `null` if the file could not be read to its end. */
  readonly input: CheckedInput | null;
  readonly problems: InputProblems;
}

async function checkAll(
  connection: ConnectionSettings,
  store: ObjectStore,
  request: WriteBackSource,
): Promise<AllProblems> {
  const problems = new InputProblems();
  try {
    const input = await checkWriteBack(connection, store, request, problems);
    return { input, problems };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    problems.add(error);
    return { input: null, problems };
  }
}

/** The options that a file is read with: those of the command, and those of the configuration. */
async function optionsInUse(
  connection: ConnectionSettings,
  request: WriteBackSource,
): Promise<ReadingOptions> {
  try {
    const { source, given } = await openInput(request, connection, writableResource(request.resource));
    source.close();
    return given;
  } catch (error) {
    if (error instanceof InputError) return request;
    throw error;
  }
}

const LISTS = ['dateFormats', 'trueWords', 'falseWords', 'dropColumns'] as const;

/** A list of the command replaces that of the configuration, so a proposed list must have the members of both. */
export function completeLists(
  proposed: Partial<WriteBackSource>,
  request: Pick<ReadingOptions, (typeof LISTS)[number]>,
  inUse: ReadingOptions,
): Partial<WriteBackSource> {
  const lists = LISTS.filter((key) => proposed[key] !== undefined && request[key] === undefined);
  const complete = lists.map(
    (key) => [key, [...new Set([...(inUse[key] ?? []), ...proposed[key]!])]] as const,
  );
  return { ...proposed, ...Object.fromEntries(complete) };
}

/** A request with more options; lists and maps get further members. */
function withOptions(request: WriteBackSource, more: Partial<WriteBackSource>): WriteBackSource {
  const { dateFormats = [], trueWords = [], falseWords = [], dropColumns = [], units, ...rest } = more;
  const list = (before: readonly string[] | undefined, added: readonly string[]) =>
    before === undefined && added.length === 0 ? undefined : [...(before ?? []), ...added];
  return {
    ...{ ...request, ...rest },
    dateFormats: list(request.dateFormats, dateFormats),
    trueWords: list(request.trueWords, trueWords),
    falseWords: list(request.falseWords, falseWords),
    dropColumns: list(request.dropColumns, dropColumns),
    units: units === undefined ? request.units : { ...request.units, ...units },
  };
}

function described({ first, count }: ProblemKind) {
  return { problem: first.kind, rows: count, firstLine: first.line, remedy: first.remedy };
}

function printProblems(
  { kinds, others }: InputProblems,
  words: readonly string[],
  left: readonly ProblemKind[] | null,
): void {
  output.note(`The file has errors of ${counted(kinds.length, 'kind')}. Nothing was sent.`, 'error');
  for (const kind of kinds) printKind(kind);
  if (others > 0) output.note(`and ${counted(others, 'error')} of further kinds`);
  if (left === null) return;
  const isAll = left.length === 0;
  output.note(isAll ? 'With these options added, it has none:' : 'These options could correct some of them:');
  output.note(`  ${words.map(shellWord).join(' ')}`);
  if (!isAll) output.note(`With them, errors of ${counted(left.length, 'kind')} would be left:`);
  const known = new Set(kinds.map(({ first }) => first.kind));
  for (const kind of left) printKind(kind, !known.has(kind.first.kind));
}

/** @param isNew its remedy has not been printed yet */
function printKind({ first, count, values }: ProblemKind, isNew = true): void {
  const [value] = values;
  const found = value === undefined ? '' : `: ${JSON.stringify(value)}`;
  const where = first.line === null ? '' : `, first in line ${first.line}`;
  output.note(`  ${first.kind} (${counted(count, 'time')}${where}${found})`);
  if (isNew && first.remedy !== null) output.note(`    ${first.remedy}`);
}
