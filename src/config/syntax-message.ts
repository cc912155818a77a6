import type { ErrorCode } from 'yaml';

const MESSAGES: Partial<Record<ErrorCode, string>> = {
  DUPLICATE_KEY: 'the same key appears twice in this map',
  MULTIPLE_DOCS: 'found a second document (---); a configuration is one document',
  RESOURCE_EXHAUSTION: 'lists or maps are nested too deeply',
  TAG_RESOLVE_FAILED: 'found an unknown tag (!name); quote strings that start with !',
  BAD_SCALAR_START: 'a string cannot start with this character; put it in quotes, such as "@daily"',
  BAD_DIRECTIVE: 'found a directive (a line that starts with %); quote strings that start with %',
  TAB_AS_INDENT: 'found a tab as indentation; YAML allows only spaces',
};

/**
 * Describes a syntax error without the file text that yaml quotes in some messages (at the end, after a colon; for an
 * invalid escape, its two to ten characters).
 */
export function syntaxMessage(code: ErrorCode, message: string): string {
  const own = MESSAGES[code];
  if (own !== undefined) return own;
  const quotes = code === 'UNEXPECTED_TOKEN' || code === 'BAD_ALIAS';
  const rest = quotes ? message.replace(/:\s.*$/s, '') : message.split('\n')[0];
  return code === 'BAD_DQ_ESCAPE'
    ? 'found an invalid escape in a double-quoted string; write \\\\ for a backslash'
    : `the YAML is malformed: ${rest}`;
}
