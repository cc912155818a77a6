import { describe, expect, it } from 'vitest';
import { noFacts } from '../../../src/core/value-facts.js';
import {
  decodeSchema,
  encodeSchema,
  nextColumns,
  sameTypes,
} from '../../../src/table/rules/table-columns.js';
import { typeBits } from '../../support/column-types.js';

const column = (name: string, ...types: string[]) => ({ name, types: typeBits(types), values: noFacts() });
const byName = (columns: ReturnType<typeof nextColumns>) =>
  Object.fromEntries(columns.map(({ name, type }) => [name, type]));

describe('the columns of a table', () => {
  it('get an alias where Delta does not accept the name, and keep it', () => {
    const first = nextColumns([], [column('id', 'string'), column('a b'), column('ID'), column('')], {});
    expect(first.map(({ alias }) => alias)).toEqual([
      ...['_run_id', '_synced_at', '_deleted_at', 'id', 'a_b', 'ID_2', 'unnamed'],
    ]);
    const next = nextColumns(first, [column('a;b'), column('id', 'string')], {});
    expect(next.map(({ alias }) => alias)).toEqual([...first.map(({ alias }) => alias), 'a_b_2']);
  });

  it('survive the schema of the table', () => {
    const columns = nextColumns([], [column('id', 'string'), column('a b'), column('rate', 'number')], {
      rate: 'double',
    });
    expect(decodeSchema(encodeSchema(columns))).toEqual(columns);
    const names = ['__proto__', 'constructor', 'toString'];
    const odd = nextColumns(
      [],
      names.map((name) => column(name, 'string')),
      {},
    );
    expect(decodeSchema(encodeSchema(odd))).toEqual(odd);
    expect(odd.slice(3).map(({ type }) => type)).toEqual(['empty', 'empty', 'empty']);
  });

  it('keep their type, unless values of another JSON type came or the configuration sets one', () => {
    const before = nextColumns([], [column('n', 'integer'), column('m', 'integer'), column('k')], {}).map(
      (one) => (one.name === 'n' || one.name === 'm' ? { ...one, type: 'long' as const } : one),
    );
    const after = nextColumns(before, [column('n', 'integer', 'string'), column('m', 'integer')], {});
    expect(byName(after)).toMatchObject({ n: 'string', m: 'long', k: 'empty' });
    expect(sameTypes(before, after)).toBe(false);
    const fixed = nextColumns(before, [column('m', 'integer')], { m: 'double' });
    expect(byName(fixed)).toMatchObject({ n: 'long', m: 'double' });
    // Without the setting, the values decide again.
    expect(byName(nextColumns(fixed, [column('m', 'integer')], {}))).toMatchObject({ m: 'empty' });
  });

  it('are written again if a type of the configuration is removed, even if the values then get the same type', () => {
    const fixed = nextColumns([], [column('m', 'integer')], { m: 'long' });
    const after = fixed.map((one) => ({ ...one, fixed: false }));
    expect(sameTypes(fixed, after)).toBe(false);
    expect(sameTypes(after, fixed)).toBe(true);
    expect(sameTypes(fixed, fixed)).toBe(true);
  });

  it('can get a type without a rewrite if they had no value yet', () => {
    const before = nextColumns([], [column('n')], {});
    const after = before.map((one) => (one.name === 'n' ? { ...one, type: 'date' as const } : one));
    expect(sameTypes(before, after)).toBe(true);
    expect(sameTypes(after, before)).toBe(false);
  });
});
