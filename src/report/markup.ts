/** HTML text. Only `html` and `raw` create it, so every outside value is escaped exactly once. */
export class Markup {
  constructor(readonly text: string) {}
}

type Value = string | number | Markup | readonly Markup[];

/** Template tag that escapes every value that is not markup. */
export function html(texts: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return new Markup(texts.reduce((all, text, at) => all + textOf(values[at - 1]!) + text));
}

/** Markup from a trusted constant. */
export function raw(text: string): Markup {
  return new Markup(text);
}

export const NOTHING = raw('');

function textOf(value: Value): string {
  if (value instanceof Markup) return value.text;
  if (typeof value === 'object') return value.map(({ text }) => text).join('');
  return escapeHtml(String(value));
}

/**
 * Escapes text for element content and quoted attributes. Control characters, which HTML forbids, and bidirectional
 * controls, which could make one name look like another, are replaced by visible characters.
 */
export function escapeHtml(text: string): string {
  return text
    .replace(/[&<>"']/g, (sign) => ENTITIES[sign]!)
    .replace(CONTROLS, (sign) => {
      const code = sign.charCodeAt(0);
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\u{fffd}';
    });
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const CONTROLS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
