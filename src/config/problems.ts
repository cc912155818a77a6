import type { z } from 'zod';
import { ConfigurationError } from '../core/errors.js';

export type PathPart = string | number;

export interface SettingsProblem {
  /** Path in the file, such as `connections.acme.resources[3].window`; empty for the whole file. */
  readonly path: string;
  /** Starts at 1; `null` if the position is unknown. */
  readonly line: number | null;
  readonly column: number | null;
  /** The value found and the values allowed. */
  readonly message: string;
}

/** A problem without its position in the text. */
export interface RawProblem {
  readonly path: readonly PathPart[];
  readonly message: string;
  /** Whether to report the position of the key or of the value. Default: the value. */
  readonly at?: 'key' | 'value';
}

/** Formats a path; keys that are not plain words are in brackets. */
export function formatPath(path: readonly PathPart[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[\w$-]+$/.test(part)) text += text === '' ? part : `.${part}`;
    else text += `[${JSON.stringify(part)}]`;
  }
  return text;
}

/** Flattens zod's issues: one problem per unknown key, and for a union only the branch that matches the value's type. */
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
      const matching = issue.errors.find((branch) => branch.length > 0 && !branch.some(isWrongType));
      if (matching) return problemsOf(matching, path);
    }
    return [{ path, message: issue.message }];
  });
}

/** Whether a branch of a union rejects the type of the value. */
function isWrongType(issue: z.core.$ZodIssue): boolean {
  return issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value');
}

/** All problems of a configuration file, in the order of its lines. `path` is that of the first problem. */
export class SettingsError extends ConfigurationError {
  /** @param change `proposed`: the file is unchanged, and would have the problems after a change */
  constructor(
    source: string,
    readonly problems: readonly SettingsProblem[],
    change: 'none' | 'proposed' = 'none',
  ) {
    const count = problems.length === 1 ? 'one problem' : `${problems.length} problems`;
    const isProposed = change === 'proposed';
    const has = isProposed ? `was not changed, because it would have ${count}` : `has ${count}`;
    const first = isProposed ? '' : `Correct ${source}. `;
    super([`${source} ${has}:`, ...problems.map(formatProblem)].join('\n'), {
      path: problems[0]?.path || null,
      remedy: `${first}\`worktrack config schema\` prints a JSON Schema for editors.`,
    });
  }
}

function formatProblem({ path, line, column, message }: SettingsProblem): string {
  const place = line === null ? '' : ` (line ${line}:${column})`;
  return `  ${path === '' ? 'the file' : path}${place}: ${message}`;
}
