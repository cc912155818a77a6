import { wrong } from './found.js';
import { hasControls } from './scalars.js';

const NAME = 'up to 100 of a-z, 0-9, - and _, beginning with a letter or digit';
const PATH =
  'a path below /api/public/v2 such as calendar-entries, without slashes at its ends, empty, . or .. parts, ? and #';

/** The pattern of connection and resource names: they become folders, workflow ids and file names. */
export const NAME_PATTERN = '^[a-z0-9][a-z0-9_-]{0,99}$';

/** A connection's or resource's name. @throws RangeError with the message for the file's author. */
export function readName(text: string): string {
  if (new RegExp(NAME_PATTERN).test(text)) return text;
  throw new RangeError(wrong(text, NAME));
}

/** A resource's path below the base path. @throws RangeError with the message for the file's author. */
export function readPath(text: string): string {
  const parts = text.split('/');
  // Encoded dots are resolved like plain ones by every HTTP client.
  const stray = parts.some((part) => /^(\.|%2e){0,2}$/i.test(part));
  if (stray || /[?#\\\s]/.test(text) || hasControls(text))
    throw new RangeError(wrong(text, PATH) + pathHint(text));
  return text;
}

/** A JSON pointer (RFC 6901). @throws RangeError with the message for the file's author. */
export function readPointer(text: string): string {
  if (/^(\/([^~/]|~[01])*)*$/.test(text)) return text;
  throw new RangeError(wrong(text, 'a JSON pointer such as /resource or /data/type (RFC 6901)'));
}

function pathHint(text: string): string {
  const bare = text.replace(/^\/*(api\/public\/v2\/)?/, '').replace(/\/+$/, '');
  return bare !== text && /^[\w-]+(\/[\w-]+)*$/.test(bare) ? `. Did you mean ${JSON.stringify(bare)}?` : '';
}
