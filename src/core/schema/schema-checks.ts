import { z } from 'zod';
import { compareWith, decimalLimit, isDecimal } from '../decimal.js';
import { DAY_MS } from '../duration.js';
import {
  choice,
  duration,
  fieldName,
  fieldNames,
  issueAt,
  parsedValue,
  section,
  wholeNumber,
} from './building-blocks.js';
import { invalidValue } from './values.js';

/** The most checks of a resource, after lists of fields are taken apart. It bounds the manifest. */
const MAX_CHECKS = 50;
/** Days of a `change`: the manifest knows the last 30 runs. */
const DAYS = { least: 3, most: 28, usual: 7 } as const;
const MAX_VALUES = 1000;
const MAX_PERCENT = 1_000_000;

const PERCENT = /^(\d+(?:\.\d+)?) ?%$/;

/** A share in percent. */
const percent = parsedValue(
  (value): number => {
    const found = typeof value === 'string' ? PERCENT.exec(value.trim()) : null;
    const share = Number(found?.[1]);
    if (found !== null && share <= MAX_PERCENT) return share;
    throw new RangeError(invalidValue(value, 'a percentage such as 20% or 0.5%') + percentHint(value));
  },
  { title: 'percentage', type: 'string', pattern: PERCENT.source },
);

function percentHint(value: unknown): string {
  const number = typeof value === 'string' ? Number(value.trim() || Number.NaN) : value;
  if (typeof number !== 'number' || !Number.isFinite(number) || number < 0) return '';
  return `. Did you mean ${number > 0 && number < 1 ? Number((number * 100).toPrecision(6)) : number}%?`;
}

/** A number, as its literal. Quotes keep digits that a double does not have. */
const literal = parsedValue(
  (value): string => {
    const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : '';
    const isExact = typeof value !== 'number' || !Number.isInteger(value) || Number.isSafeInteger(value);
    if (isDecimal(text) && isExact) return text;
    const hint = isExact ? '' : '. Put a number with so many digits in quotes, so that none is lost.';
    throw new RangeError(invalidValue(value, 'a number') + hint);
  },
  { title: 'number', type: ['number', 'string'] },
);

const fields = z.union([fieldName.transform((one) => [one]), fieldNames], {
  error: ({ input }) => invalidValue(input, 'a field name, or a list of field names'),
});

const wholeRows = wholeNumber(0, Number.MAX_SAFE_INTEGER);

const rows = bounds(wholeRows, 'Least rows.', 'Most rows.');

const change = section({
  max: percent.describe('Largest distance of the number of rows from the median of the last days.'),
  new: percent.describe('Most rows that a run may add, as a share of that median.'),
  gone: percent.describe('Most rows that a run may delete, as a share of that median.'),
  over: wholeNumber(DAYS.least, DAYS.most).describe(`Number of days. Default: \`${DAYS.usual}\`.`),
})
  .partial()
  .superRefine((limits, context) => {
    if (limits.max === undefined && limits.new === undefined && limits.gone === undefined)
      context.addIssue(issueAt('has no limit; allowed: at least one of max, new, gone'));
  });

const value = z
  .union([z.string(), z.number(), z.boolean()], {
    error: ({ input }) =>
      input === null
        ? 'found nothing (null); allowed: texts, numbers, true and false. A null passes always; `notNull` forbids it'
        : invalidValue(input, 'a text, a number, true or false'),
  })
  .meta({ title: 'text, number, `true` or `false`' });

const oneOf = perField(
  z
    .array(value, { error: ({ input }) => invalidValue(input, 'a list of values such as [open, closed]') })
    .min(1, { error: 'found an empty list; allowed: at least one value' })
    .max(MAX_VALUES, { error: `found too many values; allowed: up to ${MAX_VALUES}` })
    .superRefine((values, context) => {
      for (const [at, one] of values.entries())
        if (typeof one === 'number' && Number.isInteger(one) && !Number.isSafeInteger(one))
          context.addIssue(issueAt('found a number with more digits than are exact; put it in quotes', at));
    }),
  'a map from field names to lists of values, such as { status: [open, closed] }',
);

const range = perField(
  bounds(literal, 'Least value.', 'Greatest value.'),
  'a map from field names to limits, such as { durationSeconds: { min: 0, max: 86400 } }',
);

const newest = section({
  field: fieldName.describe('A date field (ISO 8601 or an epoch number).'),
  maxAge: duration({ unit: 'd', min: 60_000, max: 3650 * DAY_MS }).describe(
    'Largest age of its newest value when the run starts.',
  ),
});

const KINDS = ['rows', 'change', 'notNull', 'unique', 'oneOf', 'range', 'newest'] as const;

const check = section({
  rows: rows.describe('Bounds of the number of rows.'),
  change: change.describe('Bounds of the difference from the last days.'),
  notNull: fields.describe('Fields that have a value in every row.'),
  unique: fields.describe('Fields whose values differ from row to row.'),
  oneOf: oneOf.describe('Fields and the values that they may have.'),
  range: range.describe('Number fields and their inclusive bounds.'),
  newest: newest.describe('A date field and the age of its newest value.'),
  of: choice(['snapshot', 'run']).describe(
    'Rows that the check sees: those of the snapshot, or those that the run read. Default: `snapshot`.',
  ),
  onFail: choice(['stop', 'warn']).describe(
    '`stop` publishes nothing, `warn` publishes with a warning. Default: `stop`; of `newest`: `warn`.',
  ),
})
  .partial()
  .superRefine((parsed, context) => {
    const found = KINDS.filter((kind) => parsed[kind] !== undefined);
    if (found.length === 1) {
      const { change: limits, of } = parsed;
      if (of === 'run' && (limits?.new !== undefined || limits?.gone !== undefined))
        context.addIssue(issueAt('found new or gone with `of: run`; allowed with `of: run`: max and over'));
      return;
    }
    const what = found.length === 0 ? 'has no check' : `has ${found.length} checks: ${found.join(', ')}`;
    context.addIssue(issueAt(`${what}; allowed: one of ${KINDS.join(', ')} in each item of the list`));
  });

/** `checks` of a resource: a flat list, one check for each field. */
export const checks = z
  .array(check, {
    error: ({ input }) => invalidValue(input, 'a list of checks, such as [{ rows: { min: 1 } }]'),
  })
  .transform((parsed) => parsed.flatMap(settingsOf))
  .superRefine((all, context) => {
    if (all.length > MAX_CHECKS)
      context.addIssue(
        issueAt(`found ${all.length} checks, one for each field; allowed: up to ${MAX_CHECKS}`),
      );
    const seen = new Set<string>();
    for (const one of all) {
      const name = `${one.kind}${'field' in one ? `(${one.field})` : ''}`;
      if (seen.has(`${one.of} ${name}`))
        context.addIssue(
          issueAt(`found ${name} twice for the same rows (\`of: ${one.of}\`); allowed: each check once`),
        );
      seen.add(`${one.of} ${name}`);
    }
  });

type ParsedCheck = z.output<typeof check>;

function settingsOf(parsed: ParsedCheck) {
  const { of = 'snapshot', onFail = parsed.newest === undefined ? 'stop' : 'warn' } = parsed;
  return rulesOf(parsed).map((rule) => ({ ...rule, of, onFail }));
}

/** What a check requires (docs/how-to/checks.md). Numbers are decimal literals, and shares are in percent. */
export type CheckRule = ReturnType<typeof rulesOf>[number];

function rulesOf(parsed: ParsedCheck) {
  const { rows: ofRows, change: ofChange, newest: ofNewest, oneOf: values = {}, range: limits = {} } = parsed;
  if (ofRows !== undefined)
    return [{ kind: 'rows' as const, min: ofRows.min ?? null, max: ofRows.max ?? null }];
  if (ofChange !== undefined) {
    const { max = null, new: added = null, gone = null, over = DAYS.usual } = ofChange;
    return [{ kind: 'change' as const, max, new: added, gone, over }];
  }
  if (ofNewest !== undefined)
    return [{ kind: 'newest' as const, field: ofNewest.field, maxAgeMs: ofNewest.maxAge }];
  return [
    ...(parsed.notNull ?? []).map((field) => ({ kind: 'notNull' as const, field })),
    ...(parsed.unique ?? []).map((field) => ({ kind: 'unique' as const, field })),
    ...Object.entries(values).map(([field, found]) => {
      const texts = found.map((one) => (typeof one === 'boolean' ? String(one) : one));
      return { kind: 'oneOf' as const, field, values: texts };
    }),
    ...Object.entries(limits).map(([field, { min = null, max = null }]) => {
      return { kind: 'range' as const, field, min, max };
    }),
  ];
}

/** Inclusive bounds. At least one is set. @param least,most descriptions of them */
function bounds<Bound extends z.ZodType<number | string>>(bound: Bound, least: string, most: string) {
  return section({
    min: bound.optional().describe(least),
    max: bound.optional().describe(most),
  }).superRefine(({ min, max }, context) => {
    if (min === undefined && max === undefined)
      context.addIssue(issueAt('has neither min nor max; allowed: at least one'));
    if (min !== undefined && max !== undefined && compareWith(`${min}`, decimalLimit(`${max}`))! > 0)
      context.addIssue(
        issueAt(`found min ${min} and max ${max}; allowed: a min that is not greater than max`),
      );
  });
}

/** A map from field names to what is allowed there. */
function perField<Value extends z.ZodType>(each: Value, allowed: string) {
  return z
    .record(z.string(), each, { error: ({ input }) => invalidValue(input, allowed) })
    .superRefine((found, context) => {
      if (Object.keys(found).length === 0)
        context.addIssue(issueAt(`found an empty map; allowed: ${allowed}`));
    });
}
