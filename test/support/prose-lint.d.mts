export interface Kind {
  readonly name: string;
  /** `null`: a mention of the specification without a link. */
  readonly pattern: RegExp | null;
  readonly instead: string;
  /** A sentence that contains it. */
  readonly sample: string;
  readonly in?: 'cells' | 'names';
}

export interface Finding {
  readonly kind: string;
  readonly found: string;
  readonly instead: string;
}

export declare const KINDS: readonly Kind[];
export declare function findingsIn(
  text: string,
  where?: { readonly names?: boolean; readonly cells?: boolean },
): Finding[];
export declare function textsOf(
  path: string,
  source: string,
): { readonly text: string; readonly line: number; readonly names?: boolean }[];
export declare function lint(root: string): (Finding & { readonly path: string; readonly line: number })[];
