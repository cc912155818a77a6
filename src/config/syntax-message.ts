import type { ErrorCode } from 'yaml';

const OURS: Partial<Record<ErrorCode, string>> = {
  DUPLICATE_KEY: 'the same key stands twice in this map',
  MULTIPLE_DOCS: 'found a second document (---); a configuration is one document',
  RESOURCE_EXHAUSTION: 'lists or maps are nested too deeply',
  TAG_RESOLVE_FAILED: 'found a tag (!name) that is not known here; put texts that begin with ! in quotes',
  BAD_SCALAR_START: 'a text cannot begin with this character; put it in quotes, such as "@daily"',
  BAD_DIRECTIVE: 'found a directive (a line that begins with %); put texts that begin with % in quotes',
  TAB_AS_INDENT: 'found a tab as indentation; YAML takes spaces only',
};

/**
 * What a fault of syntax is, without any of the text that yaml quotes in some of its messages (always at their end,
 * after a colon, or for an escape the two to ten characters themselves).
 */
export function syntaxMessage(code: ErrorCode, message: string): string {
  const ours = OURS[code];
  if (ours !== undefined) return ours;
  const quotes = code === 'UNEXPECTED_TOKEN' || code === 'BAD_ALIAS';
  const said = quotes ? message.replace(/:\s.*$/s, '') : message.split('\n')[0];
  return code === 'BAD_DQ_ESCAPE'
    ? 'found an escape in a double-quoted text that YAML does not know; write \\\\ for a backslash'
    : `the YAML is malformed: ${said}`;
}
