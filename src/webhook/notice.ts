import { get, isMap } from '../core/schema/values.js';
import type { WebhookSettings } from '../core/settings.js';

/** The rules that map a notice to resources. */
export interface NoticeRules extends Pick<WebhookSettings, 'resource' | 'kinds'> {
  /** Names of all resources of the connection. */
  readonly resources: readonly string[];
}

/**
 * The resources in a notice, in the order of the configuration; empty if `kinds` maps it to no resource. A notice
 * with several events names the resources of all of them. A notice is only a hint and the API does not define its format,
 * so nothing is an error.
 *
 * @returns `null` if the notice, or one of its events, names no known resource; it then concerns all resources
 */
export function namedResourcesOf(body: Buffer, rules: NoticeRules): readonly string[] | null {
  const notice = parseJson(body);
  if (notice === undefined) return null;
  const named = [...new Set(valuesAt(notice, rules.resource))].map((found) => resourcesForText(found, rules));
  if (named.includes(null)) return null;
  return rules.resources.filter((name) => named.some((names) => names?.includes(name)));
}

/** The JSON value of a body; `undefined` if it is no JSON. */
export function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** Order of precedence: an exact kind, the name of a resource, the kind with the longest matching prefix. */
function resourcesForText(text: unknown, { kinds, resources }: NoticeRules): readonly string[] | null {
  if (typeof text !== 'string') return null;
  if (Object.hasOwn(kinds, text)) return kinds[text]!;
  if (resources.includes(text)) return [text];
  const [longest] = Object.keys(kinds)
    .filter((kind) => kind.endsWith('*') && text.startsWith(kind.slice(0, -1)))
    .sort((a, b) => b.length - a.length);
  return longest === undefined ? null : kinds[longest]!;
}

/**
 * The values at a JSON pointer (RFC 6901) in all events of an envelope. Where the pointer meets a list, it continues in
 * each element, for `*` and for a field's name. So it does for an index if all elements are objects: an index that selects
 * the first of several events would lose the others. Any other index selects its element. `undefined` stands for an event
 * without a value; a list at the end counts as its elements.
 */
export function valuesAt(document: unknown, pointer: string): unknown[] {
  const parts = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  let values: unknown[] = [document];
  for (const part of parts) values = values.flatMap((value) => step(value, part));
  return values.flatMap((value) => (Array.isArray(value) && value.length > 0 ? value : [value]));
}

function step(at: unknown, part: string): unknown[] {
  if (!Array.isArray(at)) return [get(at, part)];
  if (at.length === 0) return [undefined];
  if (part === '*') return at;
  if (!INDEX.test(part)) return at.map((element) => get(element, part));
  return at.every(isMap) ? at : [at[Number(part)]];
}

const INDEX = /^(0|[1-9]\d*)$/;
