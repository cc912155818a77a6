import type { Argument, Command, Option } from 'commander';
import { loadSettings } from '../../config/index.js';
import { EXIT, type ExitCode } from '../shared/choose-exit-code.js';
import { output } from '../shared/output.js';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** Each script asks this program for the candidates, so that connections and resources are those of the configuration. */
export const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `_worktrack() {
  local IFS=$'\\n'
  COMPREPLY=($(worktrack completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _worktrack worktrack`,
  zsh: `#compdef worktrack
_worktrack() {
  local -a found
  found=(\${(f)"$(worktrack completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  compadd -a found || _files
}
compdef _worktrack worktrack`,
  fish: `function __worktrack_complete
  set -l found (worktrack completion fish -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c worktrack -f -a '(__worktrack_complete)'`,
};

/** `worktrack completion`: prints a script for a shell; with words, the candidates for the last one, for that script. */
export function runCompletion(program: Command, shell: Shell, words: readonly string[]): ExitCode {
  const lines = words.length === 0 ? [SCRIPTS[shell]] : completions(program, words, namesOf(words));
  if (lines.length > 0) output.source(lines.join('\n'));
  return EXIT.done;
}

/** Names in the configuration, as far as it can be read. */
export interface ConfiguredNames {
  readonly connections: readonly string[];
  readonly resources: readonly string[];
}

function namesOf(words: readonly string[]): ConfiguredNames {
  try {
    const given = separated(words).slice(0, -1);
    const file = valueAfter(given, '--config');
    const { connections } = loadSettings({ file, env: process.env, cwd: process.cwd() });
    const wanted = valueAfter(given, '--connection');
    const of = connections.filter(({ name }) => wanted === undefined || name === wanted);
    const resources = of.flatMap((connection) => connection.resources.map(({ name }) => name));
    return { connections: connections.map(({ name }) => name), resources: [...new Set(resources)] };
  } catch {
    return { connections: [], resources: [] };
  }
}

function valueAfter(words: readonly string[], option: string): string | undefined {
  const at = words.lastIndexOf(option);
  return at === -1 ? undefined : words[at + 1];
}

/** Words with each option and its value apart: `--config=FILE` is one word in zsh and fish, and three in bash, which splits at `=`. */
function separated(words: readonly string[]): string[] {
  return words.flatMap((word, at) => {
    if (word === '=') return at === words.length - 1 ? [''] : [];
    const equals = word.startsWith('--') ? word.indexOf('=') : -1;
    return equals === -1 ? [word] : [word.slice(0, equals), word.slice(equals + 1)];
  });
}

/**
 * What may stand in the place of the last word: commands, options, and the values of options and arguments. None where a file stands,
 * so that the shell offers its own.
 *
 * @param typed words of the command line after the program's name; the last one is incomplete or empty
 */
export function completions(program: Command, typed: readonly string[], names: ConfiguredNames): string[] {
  const words = separated(typed);
  const last = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const { command, operands } = placeOf(program, before);
  const options = optionsOf(command);
  const open = options.find((option) => option.required && flagsOf(option).includes(before.at(-1) ?? ''));
  const all =
    open !== undefined
      ? valuesOf(open, names)
      : last.startsWith('-')
        ? options.flatMap(flagsOf)
        : [...(operands === 0 ? visible(command) : []), ...argumentValues(command, operands, names)];
  const whole = typed.at(-1) ?? '';
  const prefix =
    open !== undefined && whole.startsWith('--') ? whole.slice(0, whole.length - last.length) : '';
  return [...new Set(all)]
    .filter((one) => one.startsWith(last))
    .sort()
    .map((one) => prefix + one);
}

/** The command that complete words lead to, and how many of its arguments they have. */
function placeOf(program: Command, words: readonly string[]): { command: Command; operands: number } {
  let command = program;
  let operands = 0;
  let isValue = false;
  for (const word of words) {
    const option = optionsOf(command).find((one) => flagsOf(one).includes(word));
    const below = isValue || operands > 0 ? undefined : command.commands.find((one) => one.name() === word);
    if (below !== undefined) command = below;
    else if (!isValue && !word.startsWith('-')) operands++;
    isValue = option?.required ?? false;
  }
  return { command, operands };
}

function argumentValues(
  { registeredArguments }: Command,
  at: number,
  names: ConfiguredNames,
): readonly string[] {
  const last = registeredArguments.at(-1);
  const argument = registeredArguments[at] ?? (last?.variadic === true ? last : undefined);
  return argument === undefined ? [] : valuesOf(argument, names);
}

function visible({ commands }: Command): string[] {
  return commands.map((command) => command.name());
}

/** Those of the command and the global ones: those of a command in between must not follow its name. */
function optionsOf(command: Command): Option[] {
  const own = command.options.filter(({ hidden }) => !hidden);
  return command.parent === null ? own : [...own, ...optionsOf(rootOf(command))];
}

function rootOf(command: Command): Command {
  return command.parent === null ? command : rootOf(command.parent);
}

function flagsOf({ short, long }: Option): string[] {
  return [short, long].filter((flag) => flag !== undefined);
}

function valuesOf(of: Option | Argument, names: ConfiguredNames): readonly string[] {
  if (of.argChoices !== undefined) return of.argChoices;
  const name = of.name();
  if (name === 'connection') return names.connections;
  return name === 'resource' || name === 'resources' ? names.resources : [];
}
