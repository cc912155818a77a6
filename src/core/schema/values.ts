const MAX_SHOWN = 60;

/** Describes a value from the file in a message: a scalar by its value, other values by their type. Not for secrets. */
export function describeFound(value: unknown): string {
  if (value === null) return 'nothing (null)';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  switch (typeof value) {
    case 'string':
      return `the text ${JSON.stringify(value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value)}`;
    case 'number':
    case 'bigint':
      return `the number ${value}`;
    case 'boolean':
      return `${value}`;
    default:
      return 'a map';
  }
}

/** The message `found …; allowed: …`, or `is missing; allowed: …`. */
export function invalidValue(value: unknown, allowed: string): string {
  return value === undefined
    ? `is missing; allowed: ${allowed}`
    : `found ${describeFound(value)}; allowed: ${allowed}`;
}

/** The value at a path of the raw tree, or `undefined`. */
export function get(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (isMap(at) && Object.hasOwn(at, key) ? at[key] : undefined),
    value,
  );
}

/** The name of an item of `resources` in the raw tree, which may be the name alone. */
export function itemName(item: unknown): unknown {
  return typeof item === 'string' ? item : get(item, 'name');
}

export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
