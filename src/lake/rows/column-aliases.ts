export interface AliasRules {
  /** Converts a name to the closest name that the engine accepts. */
  readonly toName: (name: string) => string;
  /** Names that the engine reserves, in lower case. */
  readonly reserved: readonly string[];
}

/**
 * Returns unique, non-empty column names. Engines compare names without regard to case, so `id` and `ID` get different
 * aliases (docs/explanation/guarantees.md#header). Earlier columns take precedence, so a new column changes no existing alias.
 */
export function columnAliases(names: readonly string[], { toName, reserved }: AliasRules): string[] {
  const taken = new Set(reserved);
  /** For each wanted alias, the next number to try: thousands of names can map to the same alias. */
  const next = new Map<string, number>();
  return names.map((name) => {
    const wanted = toName(name) || 'unnamed';
    let alias = wanted;
    let n = next.get(wanted.toLowerCase()) ?? 2;
    while (taken.has(alias.toLowerCase())) alias = `${wanted}_${n++}`;
    next.set(wanted.toLowerCase(), n);
    taken.add(alias.toLowerCase());
    return alias;
  });
}

/** Replaces control characters, which end comments and statements in some clients. */
export function withoutControls(name: string): string {
  return name.replace(/\p{Cc}/gu, '_');
}

/** For engines whose names consist of letters, digits and underscores. */
export function plainLower(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9_]/g, '_')
    .slice(0, 200);
}
