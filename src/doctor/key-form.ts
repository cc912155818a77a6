/** What a copied key has that does not belong to it, and the pattern that shows it. */
const SIGNS: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['is in quotation marks', /^(["'`\u201c\u201d\u2018\u2019]).*\1$/],
  ['begins or ends with a quotation mark', /^["'`]|["'`]$/],
  ['is in angle brackets, as in an example', /^<.*>$/],
  ['begins or ends with an angle bracket', /^<|>$/],
  ['is in braces or brackets', /^[[{(].*[\]})]$/],
  [
    'is the name of a variable that nothing has replaced',
    /^(?:\$\{.*\}|\$\(.*\)|\$[A-Za-z_]\w*|%\w+%|\{\{.*\}\})$/,
  ],
  ['begins with a name and "="', /^(?:export\s+)?[A-Za-z_][A-Za-z0-9_.-]*=(?=.{8})/],
  ['begins with a label', /^(?:bearer|token|basic|authorization|api[-_]?key|key|secret)[:\s]/i],
  ['ends with ";" or ","', /[;,]$/],
  ['ends with "\\"', /\\$/],
  ['ends with "\\n", "\\r" or "%0A"', /(?:\\[nr]|%0[ad])$/i],
  [
    'is a placeholder',
    /^(?:x{4,}|\*{3,}|\.{3,}|change[-_ ]?me|your[-_ ].*|placeholder|todo|redacted|null|undefined|none)$/i,
  ],
];

/**
 * What looks wrong about the form of a secret, such as quotation marks from an env file. Services choose the form of their
 * keys, so this is only a hint. The texts never contain the secret.
 */
export function oddForm(secret: string): string[] {
  const found = SIGNS.filter(([, pattern]) => pattern.test(secret)).map(([what]) => what);
  // The first sign of a pair says more than the second.
  const isCovered = (what: string): boolean =>
    (what === SIGNS[1]![0] && found.includes(SIGNS[0]![0])) ||
    (what === SIGNS[3]![0] && found.includes(SIGNS[2]![0])) ||
    (what === SIGNS[4]![0] && found.includes(SIGNS[5]![0]));
  return found.filter((what) => !isCovered(what));
}
