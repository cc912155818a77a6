import type { WebhookSettings } from '../core/settings.js';

/** What tells which resources a notice concerns. */
export interface NoticeRules extends Pick<WebhookSettings, 'resource' | 'kinds'> {
  /** Names of all resources of the connection. */
  readonly resources: readonly string[];
}

/**
 * The resources that a notice concerns, in the order of the configuration; empty where `kinds` says that it concerns
 * none. A notice is a hint and its shape is not in the spec, so nothing is an error: what cannot be told is all of
 * them. A body that is a list, in which the pointer finds nothing, is taken for a list of notices.
 */
export function resourcesOf(body: Buffer, rules: NoticeRules): readonly string[] {
  const notice = parse(body);
  if (notice === undefined) return rules.resources;
  const whole = namedAt(notice, rules);
  if (whole !== null || !Array.isArray(notice)) return inOrder(whole, rules);
  if (notice.length === 0) return rules.resources;
  return inOrder(all(notice.map((one: unknown) => namedAt(one, rules))), rules);
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** @returns `null` when it cannot be told */
function namedAt(notice: unknown, rules: NoticeRules): readonly string[] | null {
  const found = valueAt(notice, rules.resource);
  if (Array.isArray(found) && found.length > 0) return all(found.map((one) => meaning(one, rules)));
  return meaning(found, rules);
}

function all(parts: readonly (readonly string[] | null)[]): readonly string[] | null {
  return parts.some((part) => part === null) ? null : (parts as readonly (readonly string[])[]).flat();
}

/** What is said outright comes first, then a resource's own name, then the longest beginning. */
function meaning(text: unknown, { kinds, resources }: NoticeRules): readonly string[] | null {
  if (typeof text !== 'string') return null;
  if (Object.hasOwn(kinds, text)) return kinds[text]!;
  if (resources.includes(text)) return [text];
  const [longest] = Object.keys(kinds)
    .filter((kind) => kind.endsWith('*') && text.startsWith(kind.slice(0, -1)))
    .sort((a, b) => b.length - a.length);
  return longest === undefined ? null : kinds[longest]!;
}

function inOrder(named: readonly string[] | null, { resources }: NoticeRules): readonly string[] {
  return named === null ? resources : resources.filter((name) => named.includes(name));
}

/** What a JSON pointer (RFC 6901) leads to; `undefined` for nothing. */
export function valueAt(document: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, part) => {
      if (typeof at !== 'object' || at === null) return undefined;
      if (Array.isArray(at) && !/^(0|[1-9]\d*)$/.test(part)) return undefined;
      return Object.hasOwn(at, part) ? (at as Record<string, unknown>)[part] : undefined;
    }, document);
}
