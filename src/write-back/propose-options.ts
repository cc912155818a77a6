import { fromDecimalComma } from './cell-reader.js';
import type { WriteBackSource } from './check-write-back.js';
import { DateReader } from './dates.js';
import type { ProblemKind } from './input-problems.js';
import type { IsoForm } from './reading.js';
import { isClock, unitOfName } from './units.js';

/** Options that could put errors right. They are proposals: a check with them shows what they do. */
type Proposal = Pick<
  WriteBackSource,
  | 'encoding'
  | 'decimalComma'
  | 'dateFormats'
  | 'timezone'
  | 'trueWords'
  | 'falseWords'
  | 'units'
  | 'dropColumns'
  | 'lastWins'
>;

/**
 * Options that could put the errors of an input right.
 *
 * @param zone proposed for times without a zone
 */
export function proposeOptions(kinds: readonly ProblemKind[], zone: string): Proposal {
  let found: Proposal = {};
  for (const { first, values } of kinds) {
    const { about } = first;
    const cells = [...values].map((value) => value.trim());
    if (about === null) continue;
    if (about.kind === 'encoding') found = { ...found, encoding: 'windows-1252' };
    else if (about.kind === 'zone') found = { ...found, timezone: zone };
    else if (about.kind === 'pairs') found = { ...found, lastWins: true };
    else if (about.kind === 'drop')
      found = { ...found, dropColumns: [...(found.dropColumns ?? []), ...about.columns] };
    else if (about.kind === 'boolean') found = { ...found, ...wordsFor(cells, found) };
    else if (about.kind === 'time') found = { ...found, ...datesFor(cells, about.form, found, zone) };
    else if (about.kind === 'integer' || about.kind === 'number')
      found = { ...found, ...numbersFor(about.column, cells, found) };
  }
  return found;
}

/** Words for true and false, in pairs. */
const WORDS: readonly (readonly [yes: string, no: string])[] = [
  ['WAHR', 'FALSCH'],
  ['VRAI', 'FAUX'],
  ['VERDADERO', 'FALSO'],
  ['VERO', 'FALSO'],
  ['WAAR', 'ONWAAR'],
  ['PRAWDA', 'FAŁSZ'],
  ['yes', 'no'],
  ['ja', 'nein'],
  ['ja', 'nee'],
  ['oui', 'non'],
  ['sí', 'no'],
  ['si', 'no'],
  ['x', '-'],
  ['1', '0'],
  ['y', 'n'],
  ['j', 'n'],
];

function wordsFor(cells: readonly string[], { trueWords = [], falseWords = [] }: Proposal): Proposal {
  const isSome = (words: readonly string[]): boolean =>
    cells.some((cell) => words.includes(cell.toLowerCase()));
  const lower = WORDS.map(([yes, no]) => [yes.toLowerCase(), no.toLowerCase()] as const);
  // The pair that explains most cells.
  const explained = lower.map((pair) => cells.filter((cell) => pair.includes(cell.toLowerCase())).length);
  const best = explained.indexOf(Math.max(...explained));
  if (!isSome(lower[best]!)) return {};
  const [yes, no] = WORDS[best]!;
  return { trueWords: [...new Set([...trueWords, yes])], falseWords: [...new Set([...falseWords, no])] };
}

function numbersFor(column: string, cells: readonly string[], { units }: Proposal): Proposal {
  const hasComma = cells.some((cell) => cell.includes(',') && fromDecimalComma(cell) !== null);
  const hasClock = unitOfName(column) !== null && cells.some(isClock);
  return {
    ...(hasComma ? { decimalComma: true } : {}),
    ...(hasClock ? { units: { ...units, [column]: 'h' } } : {}),
  };
}

const DATES = [
  ...['dd.MM.yyyy', 'd.M.yyyy', 'dd.MM.yy', 'd.M.yy', 'dd/MM/yyyy', 'd/M/yyyy', 'MM/dd/yyyy', 'M/d/yyyy'],
  ...['dd-MM-yyyy', 'yyyy/MM/dd', 'yyyy-MM-dd', 'yyyyMMdd'],
];
const TIMES = [
  '',
  ' HH:mm',
  ' H:mm',
  ' HH:mm:ss',
  ' H:mm:ss',
  ' h:mm a',
  ' h:mm:ss a',
  "'T'HH:mm:ss",
  "'T'HH:mm",
];
const FORMATS = DATES.flatMap((date) => TIMES.map((time) => date + time));

/** The format that reads most cells as what their column needs; none if two formats read them as different days. */
function datesFor(
  cells: readonly string[],
  form: IsoForm | null,
  { dateFormats = [] }: Proposal,
  zone: string,
): Proposal {
  const isTime = (format: string): boolean => format.includes(':');
  // A format without hours makes no time of a date, and would lead to the same error.
  const fitting = FORMATS.filter((format) => (isTime(format) ? form !== 'date' : form !== 'time'));
  const read = fitting.map((format) => {
    const reader = new DateReader([format], 'UTC');
    const days = cells.map((cell) => {
      const found = reader.read(cell);
      return found !== null && 'iso' in found ? found.iso : null;
    });
    return { format, days, count: days.filter((day) => day !== null).length };
  });
  const most = Math.max(...read.map(({ count }) => count));
  const [best, ...others] = read.filter(({ count }) => count === most);
  if (best === undefined || most === 0) return {};
  if (others.some(({ days }) => days.join() !== best.days.join())) return {};
  return {
    dateFormats: [...new Set([...dateFormats, best.format])],
    ...(isTime(best.format) ? { timezone: zone } : {}),
  };
}
