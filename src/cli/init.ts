import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  configJsonSchema,
  parseSettings,
  SettingsError,
  STARTER_DEFAULTS,
  type StarterAnswers,
  starterConfig,
} from '../config/index.js';
import { ConfigurationError } from '../core/configuration-error.js';
import { type Asker, askOn } from './ask.js';
import { EXIT, type ExitCode } from './exit-code.js';
import type { GlobalOptions } from './options.js';
import { output } from './output.js';
import { UsageError } from './usage-error.js';

export interface InitOptions extends GlobalOptions {
  readonly out?: string;
  readonly baseUrl?: string;
  readonly lake?: string;
  readonly endpoint?: string;
  readonly region?: string;
  readonly apiKeyEnv?: string;
  /** With commas. */
  readonly resources?: string;
  readonly force?: boolean;
}

/** Lies beside the configuration, whose first line names it for editors. */
const SCHEMA_FILE = 'worktrack.schema.json';

/** `worktrack init`: writes a first configuration, from options and, on a terminal, from what it asks for. */
export async function runInit(options: InitOptions): Promise<ExitCode> {
  const file = options.out ?? options.config ?? 'worktrack.yaml';
  if (!/\.ya?ml$/.test(file))
    throw new UsageError(`--out must end in .yaml or .yml; found ${JSON.stringify(file)}`);
  const given = givenBy(options);
  const problem = firstProblem({ ...HARMLESS, ...given }, file);
  if (problem !== null) throw new UsageError(problem);
  // Before anybody answers seven questions in vain.
  if (options.force !== true && existsSync(file)) throw isThere(file);
  const answers = isTerminal() ? await asked(given) : complete(given);
  await write(file, starterConfig(answers, `./${SCHEMA_FILE}`), options.force === true ? 'replace' : 'keep');
  output.out(`${file} is written, and ${SCHEMA_FILE} beside it for editors.`);
  output.note(`Next: put the API key into ${answers.apiKeyEnv}, then run \`worktrack doctor\`.`);
  return EXIT.done;
}

type Given = Partial<StarterAnswers>;

/** Answers that are right, to check others one by one. */
const HARMLESS: StarterAnswers = {
  ...STARTER_DEFAULTS,
  baseUrl: 'https://tracker.example.com',
  lake: 's3://company-lake/worktrack',
};

function givenBy({ connection, baseUrl, lake, endpoint, region, apiKeyEnv, resources }: InitOptions): Given {
  const all = {
    connection,
    baseUrl,
    lake,
    endpoint,
    region,
    apiKeyEnv,
    resources: resources && namesIn(resources),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function namesIn(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

/** Without a terminal nobody can be asked. @throws UsageError that names the missing options */
function complete(given: Given): StarterAnswers {
  const { baseUrl, lake } = given;
  if (baseUrl !== undefined && lake !== undefined) return { ...STARTER_DEFAULTS, ...given, baseUrl, lake };
  const missing = [
    ...(baseUrl === undefined ? ['--base-url'] : []),
    ...(lake === undefined ? ['--lake'] : []),
  ];
  throw new UsageError(
    `there is no terminal to ask on, and ${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} missing; give what the file must say as options`,
  );
}

function isTerminal(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

async function asked(given: Given): Promise<StarterAnswers> {
  const asker = askOn({ input: process.stdin, output: process.stderr });
  try {
    return await askAll(asker, given);
  } finally {
    asker.close();
  }
}

/** Asks for what is not given. */
export async function askAll(asker: Asker, given: Given): Promise<StarterAnswers> {
  const ask = (name: keyof StarterAnswers, text: string, fallback?: string): Promise<string> =>
    asker.ask({ text, fallback, check: (answer) => problemWith(name, answer) });
  const { connection: someName, apiKeyEnv: someKey, resources: some } = STARTER_DEFAULTS;
  const connection = given.connection ?? (await ask('connection', 'A name for the connection', someName));
  const baseUrl =
    given.baseUrl ?? (await ask('baseUrl', "The service's address, such as https://tracker.example.com"));
  const lake = given.lake ?? (await ask('lake', 'The lake: s3://bucket/prefix or file:///absolute/folder'));
  const isS3 = lake.startsWith('s3:');
  const endpoint =
    given.endpoint ?? (isS3 ? await ask('endpoint', "The store's endpoint; empty for AWS", '') : '');
  const region =
    given.region ?? (isS3 ? await ask('region', "The bucket's region; empty for AWS_REGION", '') : '');
  const apiKeyEnv =
    given.apiKeyEnv ?? (await ask('apiKeyEnv', 'The NAME of the variable that holds the API key', someKey));
  const resources =
    given.resources ?? namesIn(await ask('resources', 'What to mirror, with commas', some.join(', ')));
  const store = { ...(endpoint === '' ? {} : { endpoint }), ...(region === '' ? {} : { region }) };
  return { connection, baseUrl, lake, ...store, apiKeyEnv, resources };
}

/** What the configuration's own check says of one answer. */
function problemWith(name: keyof StarterAnswers, answer: string): string | null {
  if (answer === '' && (name === 'endpoint' || name === 'region')) return null;
  const value = name === 'resources' ? namesIn(answer) : answer;
  const problem = firstProblem({ ...HARMLESS, [name]: value }, 'the answer');
  return problem === null ? null : problem.replace(/^--[a-z-]+: /, '');
}

/** By the end of a path in the file. */
const OPTION_OF: readonly [RegExp, string][] = [
  [/\.baseUrl$/, '--base-url'],
  [/\.lake\.endpoint$/, '--endpoint'],
  [/\.lake\.region$/, '--region'],
  [/\.lake\b/, '--lake'],
  [/\.apiKey\b/, '--api-key-env'],
  [/\.resources\b/, '--resources'],
  [/^connections\b/, '--connection'],
];

function firstProblem(answers: StarterAnswers, source: string): string | null {
  try {
    parseSettings(starterConfig(answers, SCHEMA_FILE), source);
    return null;
  } catch (error) {
    const [first] = error instanceof SettingsError ? error.problems : [];
    if (first === undefined) throw error;
    const option = OPTION_OF.find(([pattern]) => pattern.test(first.path))?.[1];
    return option === undefined ? first.message : `${option}: ${first.message}`;
  }
}

/** @throws ConfigurationError when the file is there already and is to be kept, or cannot be written */
async function write(file: string, text: string, existing: 'keep' | 'replace'): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { flag: existing === 'keep' ? 'wx' : 'w' });
    await writeFile(join(dirname(file), SCHEMA_FILE), `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw isThere(file);
    throw new ConfigurationError(`${file} cannot be written (${code ?? String(cause)})`, {
      remedy: 'Give a path with --out that you may write to.',
      cause,
    });
  }
}

function isThere(file: string): ConfigurationError {
  return new ConfigurationError(`${file} is there already, and was left as it is`, {
    remedy: `Write to another place with --out, or overwrite ${basename(file)} with --force.`,
  });
}
