import { ConfigurationError } from '../core/errors.js';
import type { SettingsProblem } from './problems.js';

/** All problems of a configuration file, in the order of its lines. `path` is that of the first problem. */
export class SettingsError extends ConfigurationError {
  readonly problems: readonly SettingsProblem[];

  constructor(source: string, problems: readonly SettingsProblem[]) {
    const count = problems.length === 1 ? 'one problem' : `${problems.length} problems`;
    super([`${source} has ${count}:`, ...problems.map(formatProblem)].join('\n'), {
      path: problems[0]?.path || null,
      remedy: `Correct ${source}. \`worktrack config schema\` prints a JSON Schema for editors.`,
    });
    this.problems = problems;
  }
}

function formatProblem({ path, line, column, message }: SettingsProblem): string {
  const place = line === null ? '' : ` (line ${line}:${column})`;
  return `  ${path === '' ? 'the file' : path}${place}: ${message}`;
}
