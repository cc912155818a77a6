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
} from '../../config/index.js';
import { ConfigurationError } from '../../core/errors.js';
import { systemCause } from '../../core/system-error.js';
import { EXIT, type ExitCode, UsageError } from '../shared/choose-exit-code.js';
import type { GlobalOptions } from '../shared/command-options.js';
import { output } from '../shared/output.js';
import { canPrompt, type Prompter, withPrompter } from './prompt.js';
import { findInService, noteFound } from './window-fields.js';

interface InitOptions extends GlobalOptions {
  readonly out?: string;
  readonly baseUrl?: string;
  readonly lake?: string;
  readonly endpoint?: string;
  readonly region?: string;
  readonly apiKeyEnv?: string;
  /** Separated by commas. */
  readonly resources?: string;
  readonly force?: boolean;
}

/** Written next to the configuration, whose first line names it for editors. */
const SCHEMA_FILE = 'worktrack.schema.json';

/** `worktrack init`: writes a first configuration from options and, on a terminal, from prompts. */
export async function runInit(options: InitOptions): Promise<ExitCode> {
  const file = options.out ?? options.config ?? 'worktrack.yaml';
  if (!/\.ya?ml$/.test(file))
    throw new UsageError(`--out must end in .yaml or .yml; found ${JSON.stringify(file)}`);
  const given = answersFromOptions(options);
  const problem = firstProblem({ ...VALID_ANSWERS, ...given }, file);
  if (problem !== null) throw new UsageError(problem);
  // Checked before the prompts, so that the user does not answer them in vain.
  if (options.force !== true && existsSync(file)) throw alreadyExists(file);
  const answered = canPrompt()
    ? await withPrompter('No file was written.', (prompter) => promptForMissing(prompter, given))
    : requireAnswers(given);
  const { connections } = parseSettings(starterConfig(answered, SCHEMA_FILE), 'the answers');
  const windowFields = await findInService(connections[0]!);
  const answers = { ...answered, windowFields };
  await writeConfiguration(
    file,
    starterConfig(answers, `./${SCHEMA_FILE}`),
    options.force === true ? 'replace' : 'keep',
  );
  output.out(`Wrote ${file}, and ${SCHEMA_FILE} next to it for editors.`);
  noteFound(windowFields, answers.apiKeyEnv, null);
  return EXIT.done;
}

type PartialAnswers = Partial<StarterAnswers>;
type TextAnswer = 'connection' | 'baseUrl' | 'lake' | 'endpoint' | 'region' | 'apiKeyEnv';

/** Valid values for all answers, so that a single answer can be checked on its own. */
const VALID_ANSWERS: StarterAnswers = {
  ...STARTER_DEFAULTS,
  baseUrl: 'https://tracker.example.com',
  lake: 's3://company-lake/worktrack',
};

function answersFromOptions(options: InitOptions): PartialAnswers {
  const { connection, baseUrl, lake, endpoint, region, apiKeyEnv, resources } = options;
  const all = {
    ...{ connection, baseUrl, lake, endpoint, region, apiKeyEnv },
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

/** The answers without prompting. @throws UsageError that names the missing options */
function requireAnswers(given: PartialAnswers): StarterAnswers {
  const { baseUrl, lake } = given;
  if (baseUrl !== undefined && lake !== undefined) return { ...STARTER_DEFAULTS, ...given, baseUrl, lake };
  const missing = [
    ...(baseUrl === undefined ? ['--base-url'] : []),
    ...(lake === undefined ? ['--lake'] : []),
  ];
  throw new UsageError(
    `${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} missing and there is no terminal for prompts; pass the values as options`,
  );
}

/** Prompts for the answers that are not given. */
export async function promptForMissing(prompter: Prompter, given: PartialAnswers): Promise<StarterAnswers> {
  const ask = async (name: TextAnswer, text: string, fallback?: string): Promise<string> =>
    given[name] ?? prompter.ask({ text, fallback, check: (answer) => problemWith(name, answer) });
  const defaults = STARTER_DEFAULTS;
  const connection = await ask('connection', 'Name of the connection', defaults.connection);
  const baseUrl = await ask('baseUrl', 'URL of the service, such as https://tracker.example.com');
  const lake = await ask('lake', 'Lake URL: s3://bucket/prefix or file:///absolute/folder');
  const askS3 = async (name: TextAnswer, text: string): Promise<string> =>
    lake.startsWith('s3:') ? ask(name, text, '') : (given[name] ?? '');
  const endpoint = await askS3('endpoint', 'Endpoint of the S3 store; empty for AWS');
  const region = await askS3('region', 'Region of the bucket; empty for AWS_REGION');
  const variable = 'NAME of the environment variable that holds the API key';
  const apiKeyEnv = await ask('apiKeyEnv', variable, defaults.apiKeyEnv);
  const resources =
    given.resources ??
    namesIn(
      await prompter.ask({
        text: 'Resources, separated by commas',
        fallback: defaults.resources.join(', '),
        check: (answer) => problemWith('resources', answer),
      }),
    );
  const store = { ...(endpoint === '' ? {} : { endpoint }), ...(region === '' ? {} : { region }) };
  return { connection, baseUrl, lake, ...store, apiKeyEnv, resources };
}

/** The first problem that the configuration check finds in one answer. */
function problemWith(name: keyof StarterAnswers, answer: string): string | null {
  if (answer === '' && (name === 'endpoint' || name === 'region')) return null;
  const value = name === 'resources' ? namesIn(answer) : answer;
  const problem = firstProblem({ ...VALID_ANSWERS, [name]: value }, 'the answer');
  return problem === null ? null : problem.replace(/^--[a-z-]+: /, '');
}

/** The option for a path in the file. */
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

/** @throws ConfigurationError if the file exists and `existing` is `keep`, or if it cannot be written */
async function writeConfiguration(file: string, text: string, existing: 'keep' | 'replace'): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { flag: existing === 'keep' ? 'wx' : 'w' });
    await writeFile(join(dirname(file), SCHEMA_FILE), `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw alreadyExists(file);
    throw new ConfigurationError(`cannot write ${file} (${systemCause(cause)})`, {
      remedy: 'Choose a writable path with --out.',
      cause,
    });
  }
}

function alreadyExists(file: string): ConfigurationError {
  return new ConfigurationError(`${file} already exists and was not changed`, {
    remedy: `Choose another file with --out, or overwrite ${basename(file)} with --force.`,
  });
}
