import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonText } from '../../../src/json/value.js';
import type { BeforeRow, NowRow, RecordNow } from '../../../src/write-back/compare-published.js';
import { hashOfCell, keptHashes } from '../../../src/write-back/record-state.js';
import { type RowUndo, type SentRow, undoOf } from '../../../src/write-back/undo-row.js';

type Cells = Readonly<Record<string, string | null>>;

const record = (fields: object | string, others: Cells = { other: 'o' }): RecordNow => ({
  fields: typeof fields === 'string' ? fields : JSON.stringify(fields),
  others: Object.fromEntries(Object.entries(others).map(([column, cell]) => [column, hashOfCell(cell)])),
});

function sent(body: object | string, before: BeforeRow | undefined, more: Partial<SentRow> = {}): SentRow {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const written = { outcome: 'updated', id: '1', confirmation: 'confirmed' } as const;
  return { row: 1, pair: ['cal', '1'], body: text, ...(before && { before }), ...written, ...more };
}

/** What would be sent, and what is left out, in few words. */
function inShort(undo: RowUndo): unknown {
  if (undo.kind === 'left') return undo.why;
  const fields = Object.fromEntries([...undo.fields].map(([name, value]) => [name, jsonText(value)]));
  const kept = undo.kept.map(({ field, why }) => `${field} ${why}`);
  return [undo.changes.length === 0 ? 'same' : fields, ...kept];
}

describe('a row of a batch that is undone', () => {
  const cases: [what: string, SentRow, now: NowRow, found: unknown, withNull?: true][] = [
    [
      'gets the values from before',
      sent({ a: 2, b: 'y' }, record({ a: 1, b: 'x' })),
      record({ a: 2, b: 'y' }),
      [{ a: '1', b: '"x"' }],
    ],
    [
      'gets all of its fields, also those that it has not changed',
      sent({ a: 2, b: 'x' }, record({ a: 1, b: 'x' })),
      record({ a: 2, b: 'x' }),
      [{ a: '1', b: '"x"' }],
    ],
    [
      'gets the literal text of a number',
      sent('{"a":12.5}', record('{"a":12.50}')),
      record('{"a":12.5}'),
      [{ a: '12.50' }],
    ],
    [
      'is the same in another form',
      sent(
        { a: '2026-11-20T08:00:00Z', b: 1, c: { x: 1, y: 2 }, d: '7' },
        record({ a: 'x', b: 2, c: 3, d: 8 }),
      ),
      record('{"a":"2026-11-20T09:00:00.000+01:00","b":1.0,"c":{"y":2,"x":1},"d":7}'),
      [{ a: '"x"', b: '2', c: '3', d: '8' }],
    ],
    ['has changed nothing', sent({ a: 1 }, record({ a: 1 })), record({ a: 1 }), ['same']],
    ['was undone already', sent({ a: 2 }, record({ a: 1 })), record({ a: 1 }), ['same']],
    [
      'is not shown yet',
      sent({ a: 2 }, record({ a: 1 }), { confirmation: 'notSeen' }),
      record({ a: 1 }),
      'not-seen',
    ],
    [
      'was not looked for yet',
      sent({ a: 2 }, record({ a: 1 }), { confirmation: null }),
      record({ a: 1 }),
      'not-seen',
    ],
    [
      'was changed in its fields',
      sent({ a: 2, b: 2 }, record({ a: 1, b: 1 })),
      record({ a: 2, b: 3 }),
      'changed',
    ],
    ['was changed in white space', sent({ a: 'x' }, record({ a: 'y' })), record({ a: 'x ' }), 'changed'],
    ['was changed elsewhere', sent({ a: 2 }, record({ a: 1 })), record({ a: 2 }, { other: 'p' }), 'changed'],
    ['was emptied elsewhere', sent({ a: 2 }, record({ a: 1 })), record({ a: 2 }, { other: null }), 'changed'],
    [
      'was filled elsewhere',
      sent({ a: 2 }, record({ a: 1 }, {})),
      record({ a: 2 }, { other: 'o' }),
      'changed',
    ],
    [
      'has an empty column that is new',
      sent({ a: 2 }, record({ a: 1 })),
      record({ a: 2 }, { other: 'o', more: null }),
      [{ a: '1' }],
    ],
    [
      'was changed elsewhere, in a column that is ignored or not published today',
      sent({ a: 2 }, record({ a: 1 }, { other: 'o', version: '1' })),
      record({ a: 2 }),
      [{ a: '1' }],
    ],
    ['has lost a member', sent({ a: { x: 1, y: 2 } }, record({ a: 1 })), record({ a: { x: 1 } }), 'changed'],
    ['has got a member', sent({ a: { x: 1 } }, record({ a: 1 })), record({ a: { x: 1, y: 2 } }), 'changed'],
    ...(
      [
        ['white space', '["x"]', '["x "]'],
        ['a composed letter', '{"n":"\u00e9"}', '{"n":"e\u0301"}'],
        ['the name of a member', '{"x":[{"y":null}]}', '{"x":[{"z":null}]}'],
        ['the order of a list', '[1,2]', '[2,1]'],
        ['a shorter list', '{"x":[1]}', '{"x":[1,2]}'],
        ['null for an empty text', '[""]', '[null]'],
        ['a list for an object', '{}', '[]'],
      ] as const
    ).map(([what, wrote, is]): (typeof cases)[number] => [
      `was changed in a nested value: ${what}`,
      sent(`{"a":${wrote}}`, record({ a: 1 })),
      record(`{"a":${is}}`),
      'changed',
    ]),
    [
      'is the same in a nested value',
      sent({ a: { x: [1, '2026-11-20T08:00:00Z', { y: 2, z: [] }] } }, record({ a: 1 })),
      record('{"a":{"x":[1.0,"2026-11-20T09:00:00+01:00",{"z":[],"y":2}]}}'),
      [{ a: '1' }],
    ],
    ['was emptied', sent({ a: 2 }, record({ a: 1 })), record({ a: null }), 'changed'],
    [
      'keeps fields that were empty',
      sent({ a: 2, b: 2 }, record({ a: null, b: 1 })),
      record({ a: 2, b: 2 }),
      [{ b: '1' }, 'a empty'],
    ],
    [
      'gets null where it was empty',
      sent({ a: 2, b: 2 }, record({ a: null, b: 1 })),
      record({ a: 2, b: 2 }),
      [{ a: 'null', b: '1' }],
      true,
    ],
    ['keeps its only field', sent({ a: 2 }, record({ a: null })), record({ a: 2 }), ['same', 'a empty']],
    ['has an empty text again', sent({ a: 'x' }, record({ a: '' })), record({ a: 'x' }), [{ a: '""' }]],
    ['has set a field to null', sent({ a: null }, record({ a: 'x' })), record({ a: null }), [{ a: '"x"' }]],
    [
      'keeps fields that were not shown before',
      sent({ a: 2, b: 2 }, record({ b: 1 })),
      record({ a: 2, b: 2 }),
      [{ b: '1' }, 'a not-comparable'],
    ],
    [
      'keeps fields that are not shown now',
      sent({ a: 2, b: 2 }, record({ a: 1, b: 1 })),
      record({ b: 2 }),
      [{ b: '1' }, 'a not-comparable'],
    ],
    ['has only such fields', sent({ a: 2 }, record({})), record({}), ['same', 'a not-comparable']],
    [
      'has times of the service',
      sent({ a: 2, updatedAt: 'x', createdAt: 'x' }, record({ a: 1 })),
      record({ a: 2 }),
      [{ a: '1' }],
    ],
    [
      'has created the record',
      sent({ a: 2 }, record({ a: 1 }), { outcome: 'created' }),
      record({ a: 2 }),
      'created',
    ],
    ['is unknown', sent({ a: 2 }, record({ a: 1 }), { outcome: 'unknown' }), record({ a: 2 }), 'unknown'],
    ['has no values from before', sent({ a: 2 }, undefined), record({ a: 2 }), 'not-kept'],
    ['was not published before', sent({ a: 2 }, 'new'), record({ a: 2 }), 'not-published'],
    ['had a key that is not published', sent({ a: 2 }, 'key'), record({ a: 2 }), 'not-published'],
    ['was not mirrored', sent({ a: 2 }, 'not-mirrored'), record({ a: 2 }), 'not-published'],
    ['was deleted before', sent({ a: 2 }, 'deleted'), record({ a: 2 }), 'deleted'],
    ['was outside of the window', sent({ a: 2 }, 'before-window'), record({ a: 2 }), 'before-window'],
    ['is not published now', sent({ a: 2 }, record({ a: 1 })), 'new', 'not-published'],
    ['is deleted now', sent({ a: 2 }, record({ a: 1 })), 'deleted', 'deleted'],
    ['is outside of the window now', sent({ a: 2 }, record({ a: 1 })), 'before-window', 'before-window'],
  ];
  it.each(cases)('%s', (_, row, now, found, withNull) => {
    expect(inShort(undoOf(row, now, withNull === true))).toEqual(found);
  });

  it.each([3, 100])('is undone only as it was, with %i other columns', (count) => {
    const cells = Object.fromEntries(
      Array.from({ length: count }, (_, n) => [`c${n}`, n === 1 ? null : 'x']),
    );
    const { fields, others } = record({ a: 1 }, { ...cells, seen: '1' });
    const kept = keptHashes(others, (column) => column === 'seen');
    expect(Object.keys(kept).length).toBeLessThan(65);
    const undone = (now: Cells) =>
      inShort(undoOf(sent({ a: 2 }, { fields, others: kept }), record({ a: 2 }, now), false));
    expect(undone(cells)).toEqual([{ a: '1' }]);
    for (const edit of [{ c0: 'y' }, { c0: null }, { c1: 'y' }, { more: 'y' }])
      expect(undone({ ...cells, ...edit })).toBe('changed');
  });

  it('has its values from before after the undo, or is left out', () => {
    const value = fc.constantFrom(
      'null',
      '0',
      '1',
      '1.0',
      '"1"',
      '""',
      '"a"',
      'true',
      '[]',
      '[1]',
      '{"x":null}',
    );
    const fields = fc.record({ a: value, b: value, c: value });
    const body = fc.record({ a: value, b: value }, { requiredKeys: [] });
    const edit = fc.record({ a: value, b: value, c: value }, { requiredKeys: [] });
    fc.assert(
      fc.property(fields, body, edit, fc.boolean(), (old, row, edited, withNull) => {
        const state = (record: Readonly<Record<string, string>>): RecordNow => {
          const own = Object.keys(row).map((name) => `"${name}":${record[name]}`);
          const others = Object.entries(record).filter(([name]) => !(name in row));
          return { fields: `{${own.join(',')}}`, others: Object.fromEntries(others) };
        };
        const members = Object.entries(row).map(([name, json]) => `"${name}":${json}`);
        const now = { ...old, ...row, ...edited };
        const undo = undoOf(sent(`{${members.join(',')}}`, state(old)), state(now), withNull);
        const isEdited = Object.entries(edited).some(
          ([name, json]) => json !== { ...old, ...row }[name as 'a'],
        );
        if (undo.kind === 'left') expect([isEdited, undo.why]).toEqual([true, 'changed']);
        else if (undo.changes.length > 0) {
          const sends = Object.fromEntries([...undo.fields].map(([name, one]) => [name, jsonText(one)]));
          const after: Record<string, string> = { ...now, ...sends };
          const kept = undo.kept.map(({ field }) => field);
          for (const name of Object.keys(row))
            expect(after[name]).toBe(kept.includes(name) ? now[name as 'a'] : old[name as 'a']);
          expect(withNull ? kept : []).toEqual([]);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
