const LONGEST = 60;

/** Names a value from the file for a message: its text when short, its type otherwise. Never for a secret's place. */
export function describeFound(value: unknown): string {
  if (value === null) return 'nothing (null)';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  switch (typeof value) {
    case 'string':
      return `the text ${JSON.stringify(value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value)}`;
    case 'number':
    case 'bigint':
      return `the number ${value}`;
    case 'boolean':
      return `${value}`;
    default:
      return 'a map';
  }
}

/** `found …; allowed: …`, or that the value is missing. */
export function wrong(value: unknown, allowed: string): string {
  return value === undefined
    ? `is missing; allowed: ${allowed}`
    : `found ${describeFound(value)}; allowed: ${allowed}`;
}
