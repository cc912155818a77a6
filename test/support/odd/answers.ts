import type { Expected, OddCase } from './odd-case.js';

const LENIENT = '    sync: { pageSize: 10 }\n    json: lenient\n';

/** Umlauts, a tab and a null, for the bodies to carry. */
const change: OddCase['change'] = ({ admin }, run) => {
  admin.create('tasks', { title: `Prüfung ${run} – Größe`, note: 'Tab\there', hours: null });
};
const quiet: OddCase['change'] = () => {};

const failed = (says: RegExp, rows: Expected['rows'] = 'none'): Expected => ({ exit: 1, says, rows });
const always = (expected: Expected) => [expected, expected, expected] as const;
/** Fails after the first export. */
const later = (expected: Expected) => [{}, expected, expected] as const;

const nullData = failed(/"data" is null/);
const emptyObject = failed(/tasks: GET .* the envelope has no "data"/);
const rebuilding = failed(/answered 200, but its body reports an error: The index is being rebuilt\./);
const brokenHead = failed(/the response breaks HTTP, so it cannot be read/);
const tooLong = failed(/a body that is longer than its Content-Length .*counts characters/, 30);
const missing = failed(/answered 404 and says: Not Found\. It has had this list before/, 30);
const needsLenient = failed(/invalid JSON: .* set `json: lenient` for the connection/, 30);
const repaired: Expected = { warns: /json: \d+ deviations? from JSON accepted/ };

export const ANSWER_CASES: readonly OddCase[] = [
  { odd: ['empty-204'], change: quiet },
  { odd: ['empty-204'], title: 'from an empty list on', simulator: { counts: { tasks: 0 } }, change },
  { odd: ['empty-body'], change: quiet },
  { odd: ['null-data'], change: quiet },
  { odd: ['null-data-always'], runs: always(nullData) },
  { odd: ['empty-object'], runs: always(emptyObject) },
  { odd: ['increment-404'], change: quiet, runs: later(missing) },
  { odd: ['html-label'], change },
  { odd: ['latin1'], change: ({ admin }) => void admin.create('tasks', { title: 'Prüfung, Größe' }) },
  { odd: ['utf-16'], change },
  { odd: ['coding-utf-8'], change },
  { odd: ['gzip-label'], change },
  { odd: ['length-in-characters'], change, runs: later(tooLong) },
  { odd: ['head-large'] },
  { odd: ['head-two-lengths'], runs: always(brokenHead) },
  { odd: ['head-blank-name'], runs: always(brokenHead) },
  { odd: ['error-in-200'], runs: always(rebuilding) },
  { odd: ['error-in-200-at-first'] },
  { odd: ['control-characters'], change, runs: later(needsLenient) },
  { odd: ['control-characters'], title: 'lenient', change, yaml: LENIENT, runs: later(repaired) },
  { odd: ['not-a-number'], change, runs: later(needsLenient) },
  { odd: ['not-a-number'], title: 'lenient', change, yaml: LENIENT, runs: later(repaired) },
];
