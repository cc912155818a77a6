import { stringify } from 'yaml';

/** Escapes text so that Jinja, the language of dbt's models and settings, prints it unchanged. */
export function jinja(text: string): string {
  return text.replace(/\{(?=[{%#])/g, "{{ '{' }}");
}

/** Escapes text for Python's `string.Template`, which dbt-duckdb formats the location of a source with. */
export function pythonTemplate(text: string): string {
  return text.replaceAll('$', '$$$$');
}

/** Characters that PyYAML takes for line breaks or rejects, unless they are escaped. */
const UNSAFE = /[\u2028\u2029\ufeff\ufffe\uffff]/g;

/** A YAML document that dbt's parser, PyYAML, reads as the same value. */
export function toYaml(value: object): string {
  const plain = stringify(value, { lineWidth: 0 });
  if (plain.search(UNSAFE) === -1) return plain;
  return stringify(value, { lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE' }).replace(
    UNSAFE,
    (char) => `\\u${char.charCodeAt(0).toString(16)}`,
  );
}
