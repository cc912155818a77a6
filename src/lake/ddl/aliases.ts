export interface AliasRules {
  /** Makes a name one that the engine takes, as near to it as can be. */
  readonly toName: (name: string) => string;
  /** Names that the engine needs for itself, in lower case. */
  readonly reserved: readonly string[];
}

/**
 * Names for columns that an engine can hold side by side: engines do not tell `id` from `ID` and take no empty name
 * (DESIGN 3.9). First come, first served, so that columns added later change no name given before.
 */
export function columnAliases(names: readonly string[], { toName, reserved }: AliasRules): string[] {
  const taken = new Set(reserved);
  return names.map((name) => {
    const wanted = toName(name) || 'unnamed';
    let alias = wanted;
    for (let n = 2; taken.has(alias.toLowerCase()); n++) alias = `${wanted}_${n}`;
    taken.add(alias.toLowerCase());
    return alias;
  });
}

/** Only control characters go: they end comments and statements in some clients. */
export function printable(name: string): string {
  return name.replace(/\p{Cc}/gu, '_');
}

/** For engines that take letters, digits and underscores only. */
export function plainLower(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9_]/g, '_')
    .slice(0, 200);
}
