import { findConfig, setInConfig } from '../../config/index.js';
import type { WriteBackSource } from '../../write-back/check-write-back.js';
import { delimiterName } from '../../write-back/input-format.js';
import type { ReadingOptions } from '../../write-back/resolve-reading.js';
import { replaceConfig } from '../setup/config-edit-command.js';
import { UsageError } from '../shared/choose-exit-code.js';
import type { GlobalOptions } from '../shared/command-options.js';

/** Options of the command that describe a file, as commander gives them. */
export interface InputOptions
  extends Pick<
    WriteBackSource,
    'sheet' | 'delimiter' | 'encoding' | 'decimalComma' | 'timezone' | 'keyColumn'
  > {
  readonly dateFormat?: readonly string[];
  readonly map?: readonly string[];
  readonly true?: readonly string[];
  readonly false?: readonly string[];
  readonly unit?: readonly string[];
  readonly dropColumn?: readonly string[];
  readonly textColumn?: readonly string[];
}

/** The options of an input. @throws UsageError for a map or a unit without an equals sign */
export function readingOptions(options: InputOptions): ReadingOptions {
  const { sheet, delimiter, encoding, decimalComma, timezone } = options;
  return {
    ...{ sheet, delimiter, encoding, decimalComma, timezone },
    ...{ dateFormats: options.dateFormat, trueWords: options.true, falseWords: options.false },
    ...{ dropColumns: options.dropColumn, textColumns: options.textColumn },
    map: pairs('--map', 'Beschreibung=description', options.map),
    units: pairs('--unit', 'durationSeconds=h', options.unit),
  };
}

/** A header may have an equals sign, and a field has none. */
function pairs(
  option: string,
  example: string,
  texts?: readonly string[],
): Record<string, string> | undefined {
  if (texts === undefined) return undefined;
  const read = texts.map((text) => {
    const equals = text.lastIndexOf('=');
    const [name, value] = [text.slice(0, equals).trim(), text.slice(equals + 1).trim()];
    if (equals > 0 && name !== '' && value !== '') return [name, value] as const;
    throw new UsageError(`${option} needs two names with = between them, such as ${option} ${example}.`);
  });
  return Object.fromEntries(read);
}

/** The names of the options and of the keys in the configuration. */
const NAMES: readonly (readonly [
  key: keyof ReadingOptions | 'keyColumn' | 'lastWins',
  option: string,
  inFile?: string,
])[] = [
  ['keyColumn', '--key-column'],
  ['sheet', '--sheet'],
  ['delimiter', '--delimiter'],
  ['encoding', '--encoding'],
  ['decimalComma', '--decimal-comma'],
  ['dateFormats', '--date-format'],
  ['timezone', '--timezone'],
  ['map', '--map'],
  ['trueWords', '--true', 'true'],
  ['falseWords', '--false', 'false'],
  ['units', '--unit'],
  ['dropColumns', '--drop-column'],
  ['textColumns', '--text-column'],
  ['lastWins', '--last-wins'],
];

type Written = ReadingOptions & Pick<WriteBackSource, 'keyColumn' | 'lastWins'>;

/** The words of the command line that have these options. */
export function optionWords(options: Written): string[] {
  return NAMES.flatMap(([key, option]) => {
    const value = options[key];
    if (value === undefined || value === false) return [];
    if (value === true) return [option];
    if (typeof value === 'string') return [option, value];
    const texts = Array.isArray(value) ? value : Object.entries(value).map((pair) => pair.join('='));
    return texts.flatMap((text: string) => [option, text]);
  });
}

/** Writes options into the configuration, at `writeBack.<resource>.input`. Keys that are not given stay. @returns the path */
export async function saveInput(
  connection: string,
  resource: string,
  given: Written,
  options: GlobalOptions,
): Promise<string> {
  const config = findConfig({ file: options.config, env: process.env, cwd: process.cwd() });
  const path = ['connections', connection, 'writeBack', resource, 'input'];
  const { delimiter } = given;
  const saved = delimiter === undefined ? given : { ...given, delimiter: delimiterName(delimiter) };
  let { text } = config;
  const set = (keys: readonly string[], value: unknown): void => {
    text = setInConfig({ ...config, text }, [...path, ...keys], JSON.stringify(value));
  };
  for (const [key, , inFile = key] of NAMES) {
    const value = key === 'lastWins' ? undefined : saved[key];
    if (value === undefined) continue;
    if (typeof value !== 'object' || Array.isArray(value)) set([inFile], value);
    else for (const [name, one] of Object.entries(value)) set([inFile, name], one);
  }
  await replaceConfig(config.path, text);
  return path.join('.');
}
