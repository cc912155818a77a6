import { accessSync, constants, existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { delimiter, join, relative, resolve, sep } from 'node:path';
import { shellWord } from '../../core/short-text.js';

/** The global options that say where the configuration and the servers are. */
type PlaceOptions = { readonly [Name in keyof typeof PLACE]?: string } & {
  readonly connection?: readonly string[];
};

/** How this process was started. */
export interface Started {
  /** The path of the script, as `process.argv[1]`. */
  readonly script: string;
  /** The global options, as far as they are parsed. */
  readonly options: PlaceOptions;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/**
 * Changes the commands in a message to what the user can type: `worktrack` if any is on the user's `PATH` (a global
 * installation, the container image, the user's own script), or the shortest of `npx worktrack`, `npx temporal-worktrack`,
 * and `node` with the path of a clone that works from the working directory.
 * It adds the options that the user gave to find the configuration and the servers. A message may come from a worker,
 * which cannot know how the user runs commands, so this happens where the message is printed.
 */
export function runnable(text: string, started: Started): string {
  if (!text.includes('worktrack')) return text;
  const prefix = commandPrefix(started);
  return text.replace(COMMAND, (whole, words: string, at: number) => {
    const end = at + whole.length;
    const rest = text.slice(end, end + MAX_OPTIONS_CHARS);
    return `${prefix} ${words}${missingOptions(words, rest, started.options)}`;
  });
}

/** Longest options of a command in a message that are looked at. */
const MAX_OPTIONS_CHARS = 1000;

let optionsHere: () => PlaceOptions = () => ({});

/** Tells `runnableHere` how to read the global options of this process. */
export function readOptionsFrom(read: () => PlaceOptions): void {
  optionsHere = read;
}

/** The same for this process. */
export function runnableHere(text: string): string {
  const [, script = ''] = process.argv;
  return runnable(text, { script, options: optionsHere(), env: process.env, cwd: workingFolder() });
}

/** The working directory, even if it has been removed. */
function workingFolder(): string {
  try {
    return process.cwd();
  } catch {
    return '/';
  }
}

/** The commands and their subcommands. A test compares them with the program's. */
export const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  ...{ worker: [], export: [], backfill: [], cancel: [], status: [], history: [], verify: [], report: [] },
  ...{ rollback: [], purge: [], ddl: [], dbt: [], cat: [], replay: [], webhook: [], doctor: [], init: [] },
  ...{ demo: [], simulator: [], notify: [], audit: [], query: [], completion: [], upgrade: [], unpin: [] },
  'write-back': ['receipts', 'resend', 'confirm', 'undo'],
  schedule: ['apply', 'describe', 'trigger', 'pause', 'resume', 'delete'],
  config: ['check', 'schema', 'get', 'set', 'add-connection'],
};

const NAMES = Object.entries(COMMANDS)
  .flatMap(([name, more]) => [...more.map((one) => `${name} ${one}`), name])
  .join('|');
/** `worktrack export` and so on; not `temporal-worktrack export`, and no path. */
const COMMAND = new RegExp(`(?<![\\w./-])worktrack (${NAMES})(?![\\w-])`, 'g');

/** Options that decide which configuration and servers a command uses. */
const PLACE = {
  config: '--config',
  address: '--address',
  namespace: '--namespace',
  taskQueue: '--task-queue',
  dataConverter: '--data-converter',
} as const;
/** These commands start their own servers, or use none. */
const WITHOUT_PLACE = ['demo', 'simulator', 'init', 'replay', 'config schema'];
/** These commands do not work on one connection of the configuration. */
const WITHOUT_CONNECTION = [...WITHOUT_PLACE, 'worker', 'webhook', 'config check'];

function missingOptions(command: string, rest: string, options: PlaceOptions): string {
  const own = /^[^\n`]*/.exec(rest)![0];
  const isMissing = (option: string): boolean => !own.includes(` ${option}`);
  const found: string[] = [];
  if (!WITHOUT_PLACE.includes(command)) {
    for (const [name, option] of Object.entries(PLACE)) {
      const value = options[name as keyof typeof PLACE];
      if (value !== undefined && isMissing(option)) found.push(option, shellWord(value));
    }
  }
  const { connection: connections = [] } = options;
  if (
    connections.length === 1 &&
    !WITHOUT_CONNECTION.includes(command) &&
    isMissing('--connection') &&
    isMissing('--all')
  )
    found.push('--connection', shellWord(connections[0]!));
  return found.map((word) => ` ${word}`).join('');
}

/** The first words of a command line that runs this program. */
export function commandPrefix({ script, env, cwd }: Started): string {
  const real = realPath(script);
  // A test or another program that uses this module.
  if (real === null || !PROGRAM.test(real)) return 'worktrack';
  if (isOnPath(env)) return 'worktrack';
  const npx = /^(.*[\\/]_npx[\\/][^\\/]+)[\\/]/.exec(script) ?? /^(.*[\\/]_npx[\\/][^\\/]+)[\\/]/.exec(real);
  if (npx !== null) return npxPrefix(npxPackage(npx[1]!));
  const application = /^(.*)[\\/]node_modules[\\/](?:\.bin|temporal-worktrack)[\\/]/.exec(script)?.[1];
  if (application !== undefined && (resolve(cwd) + sep).startsWith(resolve(application) + sep))
    return 'npx worktrack';
  const near = relative(cwd, real);
  return `node ${shellWord(near !== '' && near.length < real.length ? near : real)}`;
}

const PROGRAM = /[\\/]dist[\\/]src[\\/]cli[\\/]main\.js$/;
/** The folders that npm adds to `PATH` for its own processes are not on the user's. */
const NPM_FOLDER = /[\\/](?:node_modules[\\/]\.bin|node-gyp-bin)[\\/]?$/;

function isOnPath(env: Started['env']): boolean {
  const isNpm = env.npm_execpath !== undefined;
  return (env.PATH ?? env.Path ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '' && !(isNpm && NPM_FOLDER.test(folder)))
    .map((folder) => join(folder, 'worktrack'))
    .some((file) => existsSync(`${file}.cmd`) || isExecutable(file));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** `npx NAME` runs a package of the registry. A packed file or another source needs the name of its command, too. */
function npxPrefix(source: string): string {
  return /^(?:@[\w.-]+\/)?[\w.-]+(?:@[\w.^~-]+)?$/.test(source) && !/\.tgz$/.test(source)
    ? `npx ${source}`
    : `npx --package=${shellWord(source)} worktrack`;
}

/** What npx was asked for: a name, or the path of a packed package. */
function npxPackage(folder: string): string {
  try {
    const { _npx } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      _npx?: { packages?: readonly string[] };
    };
    return _npx?.packages?.[0] ?? 'temporal-worktrack';
  } catch {
    return 'temporal-worktrack';
  }
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}
