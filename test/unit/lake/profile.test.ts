import { createHash, createHmac } from 'node:crypto';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ByteString, fromByteString, toByteString } from '../../../src/core/brands.js';
import { MaskingKey } from '../../../src/lake/rows/masking-key.js';
import {
  cellRule,
  isWanted,
  keyFingerprint,
  type Profile,
  profileFingerprint,
  type ReadyProfile,
  readyProfile,
} from '../../../src/lake/rows/profile.js';
import { anyText, bytes, profileOf } from './data-plane.js';

const apply = (profile: ReadyProfile, column: string, text: string): string => {
  const rule = cellRule(profile, column);
  return fromByteString(rule === null ? bytes(text) : rule(bytes(text)));
};

describe('A profile fingerprint', () => {
  const base = profileOf({ columns: { mask: { email: 'hash', name: 'redact' }, exclude: ['x'] } });

  it.each<[string, Profile]>([
    ['the key', { ...base, key: ['source', 'sourceKey'] }],
    ['the order of the key', { ...base, key: ['sourceKey', 'source'] }],
    ['the compression', { ...base, csv: { ...base.csv, compression: 'none' } }],
    ['the delimiter', { ...base, csv: { ...base.csv, delimiter: ';' } }],
    ['flattening', { ...base, csv: { ...base.csv, nested: 'flatten' } }],
    ['the separator', { ...base, csv: { ...base.csv, separator: '_' } }],
    ['line breaks', { ...base, csv: { ...base.csv, lineBreaks: 'escape' } }],
    ['formula escaping', { ...base, csv: { ...base.csv, escapeFormulas: true } }],
    ['a mask', { ...base, columns: { ...base.columns, mask: { email: 'hash', name: 'hash' } } }],
    ['the masked columns', { ...base, columns: { ...base.columns, mask: { email: 'hash' } } }],
    ['what is left out', { ...base, columns: { ...base.columns, exclude: [] } }],
    ['what is kept', { ...base, columns: { ...base.columns, include: ['y'] } }],
    ['keeping nothing', { ...base, columns: { ...base.columns, include: [] } }],
  ])('differs with %s', (_, other) => {
    expect(profileFingerprint(other)).not.toBe(profileFingerprint(base));
  });

  it('differs from that of version 0.1, which wrote cells by other rules', () => {
    const { partBytes: _, ...format } = base.csv;
    const sorted = (record: object) => Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
    const { mask, include, exclude } = base.columns;
    const text = JSON.stringify([base.key, sorted(format), sorted(mask), include, exclude]);
    expect(profileFingerprint(base)).not.toBe(createHash('sha256').update(text).digest('hex').slice(0, 16));
  });

  it('is the same for other part sizes and for masks in another order', () => {
    const other: Profile = {
      ...base,
      csv: { ...base.csv, partBytes: 1 },
      columns: { ...base.columns, mask: { name: 'redact', email: 'hash' } },
    };
    expect(profileFingerprint(other)).toBe(profileFingerprint(base));
  });
});

describe('A profile with a masking secret', () => {
  const SECRET = 'a secret of the tests';
  const key = new MaskingKey(SECRET, 'masking.secret');
  const masked = { mask: { email: 'hash' } } as const;
  const keyed = (maskingKey: MaskingKey): ReadyProfile =>
    profileOf({ columns: { ...masked, maskedWith: maskingKey.fingerprint }, maskingKey });
  const plain = profileOf({ columns: { mask: { email: 'hash' } } });
  const other = keyed(new MaskingKey('another secret of the tests', 'masking.secret'));

  it('masks by HMAC-SHA-256 with the secret', () => {
    const hmac = createHmac('sha256', SECRET).update('anä@example.com').digest('hex');
    expect(apply(keyed(key), 'email', 'anä@example.com')).toBe(hmac);
    expect(apply(plain, 'email', 'anä@example.com')).toBe(
      createHash('sha256').update('anä@example.com').digest('hex'),
    );
  });

  it('has a fingerprint that differs with the secret and does not show it', () => {
    const prints = [plain, keyed(key), other].map(profileFingerprint);
    expect(new Set(prints).size).toBe(3);
    expect(profileFingerprint(keyed(new MaskingKey(SECRET, '')))).toBe(prints[1]);
    expect(key.fingerprint).toMatch(/^[0-9a-f]{16}$/);
    for (const shown of [JSON.stringify(keyed(key)), inspect(keyed(key), { depth: 9, showHidden: true })])
      expect(shown).not.toContain(SECRET);
  });

  it('gives masked keys another key fingerprint, and leaves that of unmasked keys', () => {
    const asKey = { ...keyed(key), key: ['email'] };
    expect(keyFingerprint(asKey)).not.toBe(keyFingerprint({ ...other, key: ['email'] }));
    expect(keyFingerprint(asKey)).not.toBe(keyFingerprint({ ...plain, key: ['email'] }));
    expect(keyFingerprint(keyed(key))).toBe(keyFingerprint(plain));
  });

  it('cannot be made without the secret, or with another one', () => {
    const columns = { ...masked, maskedWith: key.fingerprint };
    expect(() => profileOf({ columns })).toThrow('without the masking secret');
    expect(() => readyProfile(profileOf(), key)).toThrow('with another one');
    expect(() =>
      profileOf({ columns, maskingKey: new MaskingKey('another secret of the tests', '') }),
    ).toThrow();
  });

  it('rejects a secret that is too short', () => {
    for (const secret of ['short', 'x'.repeat(15)])
      expect(() => new MaskingKey(secret, 'masking.secret')).toThrow(/shorter than 16 characters/);
    expect(() => new MaskingKey('x'.repeat(16), 'masking.secret')).not.toThrow();
  });
});

describe('The columns of a profile', () => {
  it('are those that are included and not excluded, and the key in any case', () => {
    const wanted = isWanted(profileOf({ columns: { include: ['a', 'b'], exclude: ['b', 'id'] } }));
    expect(['id', 'a', 'b', 'c'].map(wanted)).toEqual([true, true, false, false]);
  });

  it('keep a key with the name of a metadata column', () => {
    expect(isWanted(profileOf({ key: ['_run_id'], columns: { include: [] } }))('_run_id__field')).toBe(true);
  });
});

describe('A cell rule', () => {
  it('is null without settings, and for a column with the name of an inherited JavaScript property', () => {
    const masked = profileOf({ columns: { mask: { email: 'hash' } } });
    for (const column of ['id', 'constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      expect(cellRule(masked, column)).toBeNull();
    }
  });

  it('escapes a column with any name', () => {
    const profile = profileOf({ csv: { escapeFormulas: true, lineBreaks: 'escape' } });
    for (const column of ['id', 'constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      expect(apply(profile, column, '=a\nb')).toBe("'=a\\nb");
    }
  });

  it('hashes the UTF-8 text of a value, and the same value to the same cell', () => {
    const profile = profileOf({
      columns: { mask: { email: 'hash' } },
      csv: { lineBreaks: 'escape', escapeFormulas: true },
    });
    const text = '=zoë\n@example.com';
    expect(apply(profile, 'email', text)).toBe(createHash('sha256').update(text, 'utf8').digest('hex'));
  });

  it('redacts everything to the same word', () => {
    const profile = profileOf({ columns: { mask: { name: 'redact' } } });
    fc.assert(
      fc.property(anyText, (text) => {
        expect(apply(profile, 'name', text)).toBe('[redacted]');
      }),
    );
  });

  it.each(['{"a":"x\\ny","b":"\\"","c":"\\\\"}', '[["x\\u000ay"]]', '{}'])(
    'keeps the JSON text %s of a nested value, which has no line breaks',
    (json) => {
      expect(apply(profileOf({ csv: { lineBreaks: 'escape' } }), 'a', json)).toBe(json);
    },
  );

  it('marks a text that would look like the JSON text of a nested value once it is escaped', () => {
    const profile = profileOf({ csv: { lineBreaks: 'escape' } });
    expect(apply(profile, 'a', '{"a":"x\ny"}')).toBe('\\{"a":"x\\ny"}');
  });

  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\tx', '\rx', '＝1', '＋1', '－1', '＠x'])(
    'escapes the formula %j',
    (text) => {
      expect(apply(profileOf({ csv: { escapeFormulas: true } }), 'a', text)).toBe(`'${text}`);
    },
  );

  it.each([
    '',
    'a',
    '0',
    '1',
    '12.50',
    ',',
    '.',
    '/',
    ':',
    ';',
    '<',
    '>',
    '?',
    "'",
    "''a",
    ' =1',
    '\n=1',
    '日本',
    'ï',
    '；',
    '\ufeff',
  ])('does not change %j, which is not a formula', (text) => {
    expect(apply(profileOf({ csv: { escapeFormulas: true } }), 'a', text)).toBe(text);
  });

  it('escapes a formula that is not well-formed UTF-8', () => {
    const cell = '=\xff\xfe' as ByteString;
    expect(cellRule(profileOf({ csv: { escapeFormulas: true } }), 'a')!(cell)).toBe(`'${cell}`);
  });
});

describe('A setting of a nested field', () => {
  const flat = profileOf({
    csv: { nested: 'flatten' },
    columns: { exclude: ['person'], mask: { contact: 'redact' } },
  });

  it('applies to the columns that it is flattened to', () => {
    expect(isWanted(flat)('person.email')).toBe(false);
    expect(isWanted(flat)('person')).toBe(false);
    expect(isWanted(flat)('personal')).toBe(true);
    expect(cellRule(flat, 'contact.email')!(toByteString('a@b'))).toBe('[redacted]');
    expect(cellRule(flat, 'contacts')).toBeNull();
  });
});

describe('A formula', () => {
  const rule = cellRule(profileOf({ csv: { escapeFormulas: true } }), 'v')!;

  it.each(['=1+1', '+cmd', '-2+3', '@sum', '\t=1', '\r=1', '\uff1d1'])('is recognized in %j', (cell) => {
    expect(rule(toByteString(cell))).toBe(`'${toByteString(cell)}`);
  });

  it.each(['5', '1e21', 'plain', "'x", ''])('is not recognized in %j', (cell) => {
    expect(rule(toByteString(cell))).toBe(cell);
  });
});

describe('The fingerprint of a key', () => {
  const base = profileOf({ key: ['id'] });

  it('changes with the mask of the object that a flattened key is in', () => {
    const flat = (mask: Profile['columns']['mask']) =>
      keyFingerprint(profileOf({ key: ['meta.id'], csv: { nested: 'flatten' }, columns: { mask } }));
    expect(flat({ meta: 'hash' })).not.toBe(flat({}));
    expect(flat({ meta: 'hash' })).toBe(flat({ 'meta.id': 'hash' }));
  });

  it('changes with whatever changes the text of keys, and with nothing else', () => {
    for (const csv of [{ delimiter: ';' }, { lineBreaks: 'escape' }, { escapeFormulas: true }] as const)
      expect(keyFingerprint(profileOf({ key: ['id'], csv }))).toBe(keyFingerprint(base));
    for (const other of [
      profileOf({ key: ['other'] }),
      profileOf({ key: ['id'], columns: { mask: { id: 'hash' } } }),
    ]) {
      expect(keyFingerprint(other)).not.toBe(keyFingerprint(base));
    }
  });
});
