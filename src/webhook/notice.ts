import type { WebhookSettings } from '../core/settings.js';

/** The rules that map a notice to resources. */
export interface NoticeRules extends Pick<WebhookSettings, 'resource' | 'kinds'> {
  /** Names of all resources of the connection. */
  readonly resources: readonly string[];
}

/**
 * The resources of a notice, in the order of the configuration; empty if `kinds` maps it to no resource. A notice is only
 * a hint and the spec does not define its format, so nothing is an error: an unknown notice concerns all resources. If the body
 * is a list in which the pointer finds nothing, it is read as a list of notices.
 */
export function resourcesOf(body: Buffer, rules: NoticeRules): readonly string[] {
  const notice = parse(body);
  if (notice === undefined) return rules.resources;
  const whole = resourcesNamedIn(notice, rules);
  if (whole !== null || !Array.isArray(notice)) return inConfiguredOrder(whole, rules);
  if (notice.length === 0) return rules.resources;
  return inConfiguredOrder(
    flattenUnlessUnknown(notice.map((one: unknown) => resourcesNamedIn(one, rules))),
    rules,
  );
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** @returns `null` if the notice does not name its resources */
function resourcesNamedIn(notice: unknown, rules: NoticeRules): readonly string[] | null {
  const found = valueAt(notice, rules.resource);
  if (Array.isArray(found) && found.length > 0)
    return flattenUnlessUnknown(found.map((one) => resourcesForText(one, rules)));
  return resourcesForText(found, rules);
}

function flattenUnlessUnknown(parts: readonly (readonly string[] | null)[]): readonly string[] | null {
  return parts.some((part) => part === null) ? null : (parts as readonly (readonly string[])[]).flat();
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

function inConfiguredOrder(named: readonly string[] | null, { resources }: NoticeRules): readonly string[] {
  return named === null ? resources : resources.filter((name) => named.includes(name));
}

/** The value at a JSON pointer (RFC 6901); `undefined` if there is none. */
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
