import { describe, expect, it } from 'vitest';
import { oddForm } from '../../../src/doctor/check-secrets.js';

const KEY = 'wt_live_0123456789abcdef';

describe('the form of a copied key', () => {
  it.each([
    [`"${KEY}"`, 'is in quotation marks'],
    [`'${KEY}'`, 'is in quotation marks'],
    [`\`${KEY}\``, 'is in quotation marks'],
    [`"${KEY}`, 'begins or ends with a quotation mark'],
    [`${KEY}'`, 'begins or ends with a quotation mark'],
    [`<${KEY}>`, 'is in angle brackets, as in an example'],
    [`${KEY}>`, 'begins or ends with an angle bracket'],
    [`{${KEY}}`, 'is in braces or brackets'],
    [`${KEY};`, 'ends with ";" or ","'],
    [`${KEY},`, 'ends with ";" or ","'],
    [`${KEY}\\n`, 'ends with "\\n", "\\r" or "%0A"'],
    [`$${'{WORKTRACK_API_KEY}'}`, 'is the name of a variable that nothing has replaced'],
    ['$WORKTRACK_API_KEY', 'is the name of a variable that nothing has replaced'],
    ['$(cat key)', 'is the name of a variable that nothing has replaced'],
    ['%WORKTRACK_API_KEY%', 'is the name of a variable that nothing has replaced'],
    ['{{key}}', 'is the name of a variable that nothing has replaced'],
    [`WORKTRACK_API_KEY=${KEY}`, 'begins with a name and "="'],
    [`key=${KEY}`, 'begins with a name and "="'],
    [`export KEY=${KEY}`, 'begins with a name and "="'],
    [`Bearer ${KEY}`, 'begins with a label'],
    [`token:${KEY}`, 'begins with a label'],
    ['changeme', 'is a placeholder'],
    ['<your-api-key>', 'is in angle brackets, as in an example'],
    ['your-api-key', 'is a placeholder'],
    ['undefined', 'is a placeholder'],
  ])('%s is odd: it %s', (key, what) => {
    const found = oddForm(key);
    expect(found[0]).toBe(what);
    expect(found.join()).not.toContain(KEY);
  });

  it.each([`"${KEY}";`, `KEY="${KEY}"`])('%s is odd in two ways', (key) => {
    expect(oddForm(key)).toHaveLength(2);
  });

  it.each([KEY, 'abc.def-ghi_jkl~mno+pqr/stu==', 'sk-0123', 'MTIzNDU2Nzg5MA==', 'a:b', 'keyboard'])(
    '%s is not odd',
    (key) => {
      expect(oddForm(key)).toEqual([]);
    },
  );
});
