import { describe, expect, it } from 'vitest';
import { parseSettings, SettingsError } from '../../../src/config/index.js';

const text = (checks: string, more = '') => `connections:
  acme:
    baseUrl: https://track.example.com
    apiKey: { env: KEY }
    lake: { url: s3://lake/acme }
    resources:
      - name: tasks
        checks: ${checks}
${more}`;

const checksOf = (checks: string) =>
  parseSettings(text(checks), 'worktrack.yaml').connections[0]!.resources[0]!.checks;

function problemOf(checks: string, more = ''): string {
  try {
    parseSettings(text(checks, more), 'worktrack.yaml');
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
  return 'valid';
}

const STOP = { of: 'snapshot', onFail: 'stop' } as const;

describe('checks in the configuration', () => {
  it('have all their problems reported together', () => {
    const message = problemOf('[{ rows: { min: 1, max: 0 }, notNull: a }]');
    expect(message).toContain('has 2 checks: rows, notNull');
    expect(message).toContain('found min 1 and max 0');
  });

  it('become one check for each field, with their defaults', () => {
    expect(
      checksOf(`
          - rows: { min: 1000 }
          - change: { max: 20%, new: 0.5 %, gone: "3%" }
          - notNull: [projectId, start]
          - notNull: title2
            of: run
          - unique: [externalRef]
            onFail: warn
          - oneOf: { status: [open, 1, true, "1"], kind: [a] }
          - range: { durationSeconds: { min: -0.5, max: "9007199254740993" }, other: { max: 1e3 } }
          - newest: { field: updatedAt, maxAge: 3d }
          - newest: { field: createdAt, maxAge: 36h }
            onFail: stop`),
    ).toEqual([
      { kind: 'rows', min: 1000, max: null, ...STOP },
      { kind: 'change', max: 20, new: 0.5, gone: 3, over: 7, ...STOP },
      { kind: 'notNull', field: 'projectId', ...STOP },
      { kind: 'notNull', field: 'start', ...STOP },
      { kind: 'notNull', field: 'title2', of: 'run', onFail: 'stop' },
      { kind: 'unique', field: 'externalRef', of: 'snapshot', onFail: 'warn' },
      { kind: 'oneOf', field: 'status', values: ['open', 1, 'true', '1'], ...STOP },
      { kind: 'oneOf', field: 'kind', values: ['a'], ...STOP },
      { kind: 'range', field: 'durationSeconds', min: '-0.5', max: '9007199254740993', ...STOP },
      { kind: 'range', field: 'other', min: null, max: '1000', ...STOP },
      { kind: 'newest', field: 'updatedAt', maxAgeMs: 259_200_000, of: 'snapshot', onFail: 'warn' },
      { kind: 'newest', field: 'createdAt', maxAgeMs: 129_600_000, ...STOP },
    ]);
  });

  it('are none by default', () => {
    const settings = parseSettings(text('[]'), 'worktrack.yaml');
    expect(settings.connections[0]!.resources[0]!.checks).toEqual([]);
  });

  it.each([
    ['{ rows: { min: 1 } }', 'found a map; allowed: a list of checks'],
    ['[rows]', 'found the text "rows"; allowed: a map with the keys rows, change, notNull'],
    ['[{}]', 'has no check; allowed: one of rows, change, notNull, unique, oneOf, range, newest'],
    ['[{ of: run }]', 'has no check'],
    ['[{ rows: { min: 1 }, notNull: [a] }]', 'has 2 checks: rows, notNull; allowed: one of'],
    [
      '[{ notnull: [a] }]',
      'unknown key "notnull"; allowed: rows, change, notNull, unique, oneOf, range, newest, of, onFail. Did you mean "notNull"?',
    ],
    ['[{ rows: {} }]', 'has neither min nor max'],
    ['[{ rows: 1000 }]', 'found the number 1000; allowed: a map with the keys min, max'],
    [
      '[{ rows: { min: 10, max: 9 } }]',
      'found min 10 and max 9; allowed: a min that is not greater than max',
    ],
    ['[{ rows: { min: -1 } }]', 'found the number -1; allowed: a whole number from 0'],
    ['[{ rows: { min: "10" } }]', 'Remove the quotes.'],
    ['[{ change: {} }]', 'has no limit; allowed: at least one of max, new, gone'],
    ['[{ change: { over: 7 } }]', 'has no limit'],
    [
      '[{ change: { max: 20 } }]',
      'found the number 20; allowed: a percentage such as 20% or 0.5%. Did you mean 20%?',
    ],
    ['[{ change: { max: 0.2 } }]', 'Did you mean 20%?'],
    [
      '[{ change: { max: "20" } }]',
      'found the text "20"; allowed: a percentage such as 20% or 0.5%. Did you mean 20%?',
    ],
    ['[{ change: { max: -5% } }]', 'found the text "-5%"; allowed: a percentage'],
    ['[{ change: { max: 5%%, over: 2 } }]', 'found the text "5%%"; allowed: a percentage'],
    ['[{ change: { max: 5%, over: 2 } }]', 'found the number 2; allowed: a whole number from 3 to 28'],
    ['[{ change: { max: 5%, over: 29 } }]', 'found the number 29; allowed: a whole number from 3 to 28'],
    ['[{ change: { new: 5% }, of: run }]', 'found new or gone with `of: run`'],
    ['[{ notNull: [] }]', 'found an empty list; allowed: at least one field name'],
    ['[{ notNull: [1] }]', 'found the number 1; allowed: the name of a field'],
    ['[{ notNull: { a: b } }]', 'found a map; allowed: a field name, or a list of field names'],
    [
      '[{ notNull: [a, a] }]',
      'found notNull(a) twice for the same rows (`of: snapshot`); allowed: each check once',
    ],
    ['[{ range: { a: { min: 0 } } }, { range: { a: { max: 1 } } }]', 'found range(a) twice'],
    ['[{ oneOf: { a: [] } }]', 'found an empty list; allowed: at least one value'],
    [
      '[{ oneOf: { a: [b, null] } }]',
      'found nothing (null); allowed: texts, numbers, true and false. A null passes always',
    ],
    ['[{ oneOf: [a, b] }]', 'found a list; allowed: a map from field names to lists of values'],
    ['[{ oneOf: {} }]', 'found an empty map'],
    ['[{ oneOf: { a: [9007199254740993] } }]', 'put it in quotes'],
    ['[{ range: { a: {} } }]', 'has neither min nor max'],
    [
      '[{ range: { a: { min: 5, max: 4.5 } } }]',
      'found min 5 and max 4.5; allowed: a min that is not greater than max',
    ],
    [
      '[{ range: { a: { min: "9007199254740993", max: "9007199254740992" } } }]',
      'a min that is not greater than max',
    ],
    ['[{ range: { a: { min: 9007199254740993 } } }]', 'Put a number with so many digits in quotes'],
    ['[{ range: { a: { min: ten } } }]', 'found the text "ten"; allowed: a number'],
    ['[{ range: { a: { min: .inf } } }]', 'allowed: a number'],
    ['[{ range: { a: { mn: 1 } } }]', 'unknown key "mn"; allowed: min, max. Did you mean "min"?'],
    ['[{ newest: { field: a } }]', 'is missing; allowed: a duration'],
    ['[{ newest: { maxAge: 3d } }]', 'is missing; allowed: the name of a field'],
    ['[{ newest: { field: a, maxAge: 3 } }]', 'A duration needs a unit. Did you mean 3d?'],
    ['[{ newest: { field: a, maxAge: 3 days } }]', '"3 days" is not a duration; write 3d'],
    ['[{ newest: { field: a, maxAge: 1s } }]', 'allowed: 1m or longer'],
    ['[{ notNull: [a], onFail: ignore }]', 'found the text "ignore"; allowed: stop, warn'],
    ['[{ notNull: [a], of: all }]', 'found the text "all"; allowed: snapshot, run'],
  ])('%s: the message says what was found and what is allowed', (checks, expected) => {
    const problem = problemOf(checks);
    expect(problem).toContain('connections.acme.resources[0].checks');
    expect(problem).toContain(expected);
  });

  it.each([
    [
      'columns: { exclude: [secret] }',
      '[{ notNull: [secret] }]',
      'found notNull of "secret", which columns.exclude leaves out',
    ],
    [
      'columns: { include: [title] }',
      '[{ unique: [ref] }]',
      'found unique of "ref", which columns.include leaves out; allowed: "id", "title"',
    ],
    [
      'columns: { mask: { email: hash } }',
      '[{ oneOf: { email: [a] } }]',
      'found oneOf of "email", which columns.mask replaces',
    ],
    [
      'columns: { mask: { email: redact } }',
      '[{ unique: [email] }]',
      'which columns.mask makes equal (redact); allowed: hash, or no mask',
    ],
    [
      'columns: { mask: { at: hash } }',
      '[{ newest: { field: at, maxAge: 1d } }]',
      'which columns.mask replaces',
    ],
    ['columns: { mask: { email: hash } }', '[{ unique: [email] }, { notNull: [email] }]', 'valid'],
    ['columns: { include: [title] }', '[{ notNull: [id, title] }]', 'valid'],
  ])('a field that is not mirrored as it is, %s, %s: %s', (columns, checks, expected) => {
    expect(problemOf(checks, `        ${columns}\n`)).toContain(expected);
  });

  it('are at most 50 for a resource', () => {
    const fields = Array.from({ length: 51 }, (_, n) => `f${n}`);
    expect(problemOf(`[{ notNull: [${fields.join(', ')}] }]`)).toContain(
      'found 51 checks, one for each field; allowed: up to 50',
    );
  });
});
