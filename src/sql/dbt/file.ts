import { hash } from 'node:crypto';
import { stringify } from 'yaml';

/** A file of the project as the command generates it, without its header. */
export interface ProjectFile {
  /** Relative to the project's folder, with slashes. */
  readonly path: string;
  readonly body: string;
}

/** Whose project it is. It cannot change while the project exists. */
export interface ProjectOwner {
  readonly connection: string;
  readonly adapter: string;
}

/**
 * What a run of the command does with a file. `keep` and `outdated` are files that the user changed: the generated version is
 * the one that the user started from, or has changed since.
 */
export type FilePlan = 'create' | 'update' | 'unchanged' | 'keep' | 'outdated';

const HEADER =
  /^(?:# |\{# )Written by: worktrack dbt --connection ([a-z0-9_-]+) --adapter ([a-z]+)(?: #\})?\r?\n(?:# |\{# )Checksum ([0-9a-f]{16})[^\n]*\n/;

/** The text of a file with its header, in the comments of its format. */
export function renderFile({ path, body }: ProjectFile, { connection, adapter }: ProjectOwner): string {
  const lines = [
    `Written by: worktrack dbt --connection ${connection} --adapter ${adapter}`,
    `Checksum ${checksum(path, body)} of the lines below. A file whose lines were changed is kept as it is.`,
  ];
  return `${lines.map((line) => (path.endsWith('.sql') ? `{# ${line} #}` : `# ${line}`)).join('\n')}\n${body}`;
}

/** Who wrote a file; `null` for a file without a header. */
export function ownerOf(text: string): ProjectOwner | null {
  const [, connection, adapter] = HEADER.exec(text) ?? [];
  return connection === undefined || adapter === undefined ? null : { connection, adapter };
}

/** Whether a file is as the command wrote it at this path: neither changed nor copied. */
export function isGenerated(path: string, text: string): boolean {
  const header = HEADER.exec(text);
  return header !== null && header[3] === checksum(path, text.slice(header[0].length));
}

/** @param existing the text on disk; `null` if there is no file */
export function planFile(file: ProjectFile, owner: ProjectOwner, existing: string | null): FilePlan {
  if (existing === null) return 'create';
  const same = normalized(existing) === normalized(renderFile(file, owner));
  if (same) return 'unchanged';
  if (isGenerated(file.path, existing)) return 'update';
  return HEADER.exec(existing)?.[3] === checksum(file.path, file.body) ? 'keep' : 'outdated';
}

/** The path is part of it, so that a copy of a generated file counts as the user's. */
function checksum(path: string, body: string): string {
  return hash('sha256', `${path}\n${normalized(body)}`).slice(0, 16);
}

/** Version control may check a file out with other line ends. */
function normalized(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

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
