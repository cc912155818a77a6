import type { z } from 'zod';

export type PathPart = string | number;

/** One thing that is wrong with the file. */
export interface SettingsProblem {
  /** Where, in the file's own terms: `connections.acme.resources[3].window`; empty for the file as a whole. */
  readonly path: string;
  /** Counted from 1; `null` where the text gives no place. */
  readonly line: number | null;
  readonly column: number | null;
  /** What was found and what is allowed. */
  readonly message: string;
}

/** A problem before its place in the text is known. */
export interface RawProblem {
  readonly path: readonly PathPart[];
  readonly message: string;
  /** Look up the place of the key rather than of the value. */
  readonly at?: 'key' | 'value';
}

/** Writes a path as people read it; keys that are not plain words stand in brackets. */
export function formatPath(path: readonly PathPart[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[\w$-]+$/.test(part)) text += text === '' ? part : `.${part}`;
    else text += `[${JSON.stringify(part)}]`;
  }
  return text;
}

/** Flattens what zod found: one problem for each unknown key, and of a union only the branch that was meant. */
export function problemsOf(
  issues: readonly z.core.$ZodIssue[],
  prefix: readonly PathPart[] = [],
): RawProblem[] {
  return issues.flatMap((issue) => {
    const path = [...prefix, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))];
    if (issue.code === 'unrecognized_keys') {
      const messages = issue.message.split('\n');
      return issue.keys.map(
        (key, i): RawProblem => ({ path: [...path, key], message: messages[i] ?? '', at: 'key' }),
      );
    }
    if (issue.code === 'invalid_union') {
      const meant = issue.errors.find((branch) => branch.length > 0 && !branch.some(isWrongType));
      if (meant) return problemsOf(meant, path);
    }
    return [{ path, message: issue.message }];
  });
}

/** A branch that refuses the value's very type was not the one that the author had in mind. */
function isWrongType(issue: z.core.$ZodIssue): boolean {
  return issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value');
}
