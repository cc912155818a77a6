import { hasControls } from './scalars.js';
import { invalidValue } from './values.js';

const NAME = 'up to 100 characters a-z, 0-9, - and _, starting with a letter or digit';
const PATH =
  'a path below /api/public/v2 such as calendar-entries, without a leading slash, empty, . or .. segments, ? or #';

/** The pattern of connection and resource names, which become parts of folder names, workflow ids and file names. */
export const NAME_PATTERN = '^[a-z0-9][a-z0-9_-]{0,99}$';

/** Checks a connection or resource name. @throws RangeError with a message for the user. */
export function readName(text: string): string {
  if (new RegExp(NAME_PATTERN).test(text)) return text;
  throw new RangeError(invalidValue(text, NAME));
}

/** Checks a resource path. @throws RangeError with a message for the user. */
export function readPath(text: string): string {
  // Some services need a slash at the end.
  const parts = text.replace(/(?<=[^/])\/$/, '').split('/');
  // HTTP clients resolve encoded dots like plain ones.
  const hasDotSegment = parts.some((part) => /^(\.|%2e){0,2}$/i.test(part));
  if (hasDotSegment || /[?#\\\s]/.test(text) || hasControls(text))
    throw new RangeError(invalidValue(text, PATH) + pathHint(text));
  return text;
}

/** Checks a JSON pointer (RFC 6901). @throws RangeError with a message for the user. */
export function readPointer(text: string): string {
  if (/^(\/([^~/]|~[01])*)*$/.test(text)) return text;
  throw new RangeError(invalidValue(text, 'a JSON pointer such as /resource or /data/type (RFC 6901)'));
}

/** Checks the name of a field, or a JSON pointer if it begins with a slash. @throws RangeError with a message for the user. */
export function readIdField(text: string): string {
  if (text.startsWith('/')) return readPointer(text);
  if (text !== '') return text;
  throw new RangeError(
    invalidValue(text, 'the name of a field, or a JSON pointer such as /data/id (RFC 6901)'),
  );
}

function pathHint(text: string): string {
  const bare = text.replace(/^\/*(api\/public\/v2\/)?/, '').replace(/\/{2,}$/, '/');
  return bare !== text && /^[\w-]+(\/[\w-]+)*\/?$/.test(bare)
    ? `. Did you mean ${JSON.stringify(bare)}?`
    : '';
}
