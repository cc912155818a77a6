import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { jinja, pythonTemplate, toYaml } from '../../../../src/sql/dbt/file.js';

describe('text in the files of a dbt project', () => {
  it('cannot begin an expression, a statement or a comment of Jinja', () => {
    const text = '{{ a }} {% b %} {# c #} {{{ {';
    const escaped = jinja(text);
    expect(escaped.replaceAll("{{ '{' }}", '')).not.toMatch(/\{[{%#]/);
    expect(escaped.replaceAll("{{ '{' }}", '{')).toBe(text);
  });

  it('cannot name a variable of a Python template', () => {
    expect(pythonTemplate('$a $(b) $$')).toBe('$$a $$(b) $$$$');
  });

  it('has no character that PyYAML takes for a line break or rejects', () => {
    const value = { plain: 'a\nb', odd: 'x\u2028y\ufeff "z"', list: ['', 'yes', '1'] };
    expect(toYaml(value)).not.toMatch(/[\u2028\ufeff]/);
    expect(parse(toYaml(value))).toEqual(value);
    expect(toYaml({ sql: 'a\nb' })).toBe('sql: |-\n  a\n  b\n');
  });
});
