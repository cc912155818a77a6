/** Text that is HTML already. Only `html` and `raw` make it, so whatever comes from outside is escaped once. */
export class Markup {
  constructor(readonly text: string) {}
}

type Value = string | number | Markup | readonly Markup[];

/** A template whose values are escaped unless they are markup themselves. */
export function html(texts: TemplateStringsArray, ...values: readonly Value[]): Markup {
  return new Markup(texts.reduce((all, text, at) => all + textOf(values[at - 1]!) + text));
}

/** Markup of our own writing. */
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
 * Fit for an element's content and for a quoted attribute. Controls, which HTML forbids, and those that turn the
 * direction of writing, with which a name could pose as another, are shown as signs.
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
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
