import { describe, expect, it } from 'vitest';
import type { UtcSeconds } from '../../../src/core/brands.js';
import type { ColumnSettings, CsvSettings } from '../../../src/core/settings.js';
import { noFacts } from '../../../src/core/value-facts.js';
import type { Column } from '../../../src/lake/rows/data-columns.js';
import {
  columnsWithMasks,
  nextShapes,
  Reshaping,
  type Shape,
  settingsChange,
  shapeAt,
  shapeOf,
} from '../../../src/lake/rows/shapes.js';
import { typeBits } from '../../support/column-types.js';
import { settingsOfCells } from './data-plane.js';

type Settings = Partial<ColumnSettings> & Partial<Pick<CsvSettings, 'nested' | 'separator'>>;

const shape = (
  { nested = 'json', separator = '.', ...columns }: Settings,
  since: string | null = null,
): Shape => shapeOf(settingsOfCells({ csv: { nested, separator }, columns }), since as UtcSeconds | null);
const column = (name: string, ...types: string[]): Column => ({
  name,
  types: typeBits(types),
  values: noFacts(),
});

const EMAIL = column('email', 'string');
const PERSON = column('person', 'object');
const COLUMNS = [column('id', 'string'), EMAIL, PERSON];
const K1: Settings = { mask: { email: 'hash' }, maskedWith: '1' };
const K2: Settings = { mask: { email: 'hash' }, maskedWith: '2' };
const REDACT: Settings = { mask: { email: 'redact' } };
const EXCLUDE: Settings = { exclude: ['email'] };

describe('What a cell holds', () => {
  it.each<[string, Settings[], Settings, string, string]>([
    ['a value that is masked', [{}], K1, 'value', 'hash:1'],
    ['a hash that is unmasked', [K1], {}, 'hash:1', 'hash:1'],
    ['a hash that gets another key', [K1], K2, 'hash:1', 'hash:1'],
    ['a hash that was unmasked and gets its key again', [K1, {}], K1, 'hash:1', 'hash:1'],
    ['a hash that was unmasked and gets another key', [K1, {}], K2, 'hash:1', 'hash:1'],
    ['a hash that is redacted', [K1], REDACT, 'hash:1', 'redact'],
    ['a hash that was redacted and is unmasked', [K1, REDACT], {}, 'redact', 'redact'],
    ['a value that was left out and is wanted again', [EXCLUDE], {}, 'absent', 'absent'],
    ['a value that was left out and is to be masked', [{}, EXCLUDE], K1, 'absent', 'absent'],
    ['a value that is not included', [{}], { include: ['id'] }, 'value', 'absent'],
  ])('What a cell holds after changes: %s', (_, shapes, today, before, after) => {
    const reshaping = new Reshaping(
      shapes.map((one) => shape(one)),
      0,
      shape(today),
      ['id'],
    );
    expect([reshaping.before(EMAIL), reshaping.after(EMAIL)]).toEqual([before, after]);
  });

  it.each<[string, Settings, Settings, string, string]>([
    [
      'a flattened value whose object is left out',
      { nested: 'flatten' },
      { exclude: ['person'] },
      'person.email',
      'absent',
    ],
    [
      'a flattened value whose object is masked',
      { nested: 'flatten' },
      { mask: { person: 'redact' } },
      'person.email',
      'redact',
    ],
    [
      ...['a flattened value under another separator', { nested: 'flatten' }],
      ...[{ nested: 'flatten', separator: '__', exclude: ['person__email'] }, 'person.email', 'absent'],
    ] as never,
    [
      'an object of which a part is masked',
      {},
      { nested: 'flatten', mask: { 'person.email': 'hash' } },
      'person',
      'redact',
    ],
    [
      'an object of which a part is left out',
      {},
      { nested: 'flatten', exclude: ['person.email'] },
      'person',
      'redact',
    ],
    [
      'an object of which no part is hidden',
      {},
      { nested: 'flatten', exclude: ['personal'] },
      'person',
      'value',
    ],
  ])('hides what the settings hide in other columns: %s', (_, then, today, name, after) => {
    const reshaping = new Reshaping([shape(then)], 0, shape(today), ['id']);
    expect(reshaping.after(name === 'person' ? PERSON : column(name, 'string'))).toBe(after);
  });
});

describe('A change of settings', () => {
  const mustRead = (before: Settings[], today: Settings, columns = COLUMNS): boolean =>
    settingsChange(
      before.map((one) => shape(one)),
      shape(today),
      { columns, key: ['id'] },
    ).mustRead;

  it.each<[string, Settings[], Settings, boolean]>([
    ['a mask', [{}], K1, false],
    ['an exclusion', [{}], EXCLUDE, false],
    ['an exclusion of what is masked', [K1], EXCLUDE, false],
    ['redaction of a hash', [K1], REDACT, false],
    ['no mask any more', [K1], {}, true],
    ['another key', [K1], K2, true],
    ['another mask', [REDACT], K1, true],
    ['no exclusion any more', [EXCLUDE], {}, true],
    ['a mask instead of an exclusion', [EXCLUDE], K1, true],
    ['everything instead of some columns', [{ include: ['email'] }], {}, true],
    ['one column more', [{ include: ['email'] }], { include: ['email', 'note'] }, true],
    ['one column less', [{ include: ['email', 'note'] }], { include: ['email'] }, false],
    ['flattened objects', [{}], { nested: 'flatten' }, true],
    ['a mask, while rows have an old one', [K1, {}], { mask: { person: 'redact' } }, false],
    ['the key that some rows still have', [K1, {}], K1, false],
    ['a key that no row has', [K1, {}], K2, true],
  ])('reads everything if the stored cells are not enough: %s', (_, before, today, expected) => {
    expect(mustRead(before, today)).toBe(expected);
  });

  it('needs no reading for columns that never had a value of that kind', () => {
    expect(mustRead([K1], {}, [column('id', 'string'), column('email', 'null')])).toBe(false);
    expect(mustRead([{}], { nested: 'flatten' }, [column('id', 'string'), EMAIL])).toBe(false);
  });

  it('names the columns that it hides', () => {
    const hidden = (before: Settings, today: Settings) =>
      settingsChange([shape(before)], shape(today), { columns: COLUMNS, key: ['id'] }).hidden;
    expect(hidden({}, { mask: { email: 'hash', id: 'hash' }, exclude: ['person'] })).toEqual([
      'id',
      'email',
      'person',
    ]);
    expect(hidden(K1, REDACT)).toEqual([]);
    expect(hidden({}, { nested: 'flatten', exclude: ['person.email'] })).toEqual(['person']);
  });
});

describe('What cannot be restored', () => {
  const columns = [...COLUMNS, column('person.email', 'string')];
  const lost = (then: Settings, today: Settings) =>
    new Reshaping([shape(then)], 0, shape(today), ['id']).lost(columns);

  it('are objects that are flattened now, and values of objects that are left out as a whole', () => {
    expect(lost({}, { nested: 'flatten' })).toMatchObject({ objects: ['person'], flattened: [] });
    expect(lost({}, { nested: 'flatten', include: ['person.email'] })).toMatchObject({
      flattened: ['person.email'],
    });
    expect(lost({}, { nested: 'flatten', exclude: ['person'] })).toMatchObject({
      flattened: [],
      missing: [],
    });
    expect(lost({ nested: 'flatten' }, {})).toMatchObject({ objects: [], flattened: ['person.email'] });
  });

  it('names what was left out or masked', () => {
    expect(lost(EXCLUDE, {})).toMatchObject({ missing: ['email'], masked: [] });
    expect(lost(K1, K2)).toMatchObject({ missing: [], masked: ['email'] });
    expect(lost({}, K1)).toEqual({ missing: [], masked: [], objects: [], flattened: [] });
  });
});

describe('The columns with masks', () => {
  it('are also those whose object is masked, and those whose masks cannot be taken back', () => {
    const columns = [...COLUMNS, column('person.size', 'integer')];
    const masks = (then: Settings, today: Settings) =>
      columnsWithMasks([shape(then)], shape(today), { columns, key: ['id'] });
    expect(masks({ nested: 'flatten' }, { mask: { person: 'hash' } })).toEqual(['person', 'person.size']);
    expect(masks(K1, {})).toEqual(['email']);
    expect(masks(K1, K1)).toEqual([]);
    expect(masks({}, EXCLUDE)).toEqual([]);
  });
});

describe('The shapes of a snapshot', () => {
  it('grow only if cells differ', () => {
    const before = [shape({ exclude: ['b', 'a'] })];
    expect(nextShapes(before, shape({ exclude: ['a', 'b', 'a'], separator: '_' }))).toBe(before);
    expect(nextShapes(before, shape(K1))).toHaveLength(2);
  });

  it('are found by the time when a row was fetched', () => {
    const shapes = [shape({}), shape(K1, '2026-11-21T02:00:00Z'), shape({}, '2026-11-22T02:00:00Z')];
    const at = (time: string) => shapeAt(shapes, time);
    expect(
      ['2026-11-21T01:59:59Z', '2026-11-21T02:00:00Z', '2026-11-22T01:59:59Z', '2026-11-23T00:00:00Z'].map(
        at,
      ),
    ).toEqual([0, 1, 1, 2]);
  });

  it('keep the hashes of rows that no list returns any more, whatever else changes', () => {
    let shapes: readonly Shape[] = [shape(K1)];
    for (let n = 10; n < 25; n++)
      shapes = nextShapes(shapes, shape({ ...K1, exclude: [`x${n}`] }, `2026-11-21T02:00:${n}Z`));
    const oldest = new Reshaping(shapes, 0, shape(K1), ['id']);
    expect([oldest.before(EMAIL), oldest.after(EMAIL)]).toEqual(['hash:1', 'hash:1']);
  });

  it('stay few and small, and hide what may be a hash', () => {
    let shapes: readonly Shape[] = [shape({ nested: 'flatten' })];
    for (let n = 0; n < 60; n++)
      shapes = nextShapes(
        shapes,
        shape(n % 2 === 0 ? K1 : { exclude: [`x${n}`] }, `2026-11-21T02:00:${n + 10}Z`),
      );
    expect(shapes).toHaveLength(20);
    const oldest = new Reshaping(shapes, 0, shape(K2), ['id']);
    expect(oldest.after(EMAIL)).not.toBe('value');
    // Masked, because it may be part of an object that is flattened.
    const hides = new Reshaping(shapes.slice(0, 1), 0, shape({ mask: { person: 'redact' } }), ['id']);
    expect(hides.after(column('person.email', 'string'))).toBe('redact');
    const wide = shape({ exclude: Array.from({ length: 5000 }, (_, n) => `${'x'.repeat(100)}${n}`) });
    expect(
      JSON.stringify(nextShapes([shape({}), wide], shape(K1, '2026-11-21T02:00:00Z'))).length,
    ).toBeLessThan(2000);
  });
});
