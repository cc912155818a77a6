import { parseArgs } from 'node:util';
import { errorMessage } from '../../core/errors.js';
import {
  BUILT_IN_RESOURCES,
  DEMO_KEY,
  DEMO_ORGANIZATION,
  oddList,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from '../../simulator/index.js';
import { EXIT, type ExitCode } from '../shared/choose-exit-code.js';

const FLAGS = {
  port: { type: 'string' },
  host: { type: 'string' },
  seed: { type: 'string' },
  projects: { type: 'string' },
  tasks: { type: 'string' },
  'time-entries': { type: 'string' },
  'calendar-entries': { type: 'string' },
  members: { type: 'string' },
  clients: { type: 'string' },
  tags: { type: 'string' },
  'page-default': { type: 'string' },
  'page-max': { type: 'string' },
  'awkward-every': { type: 'string' },
  plain: { type: 'boolean' },
  data: { type: 'string' },
  order: { type: 'string' },
  'cursor-style': { type: 'string' },
  gzip: { type: 'string' },
  now: { type: 'string' },
  key: { type: 'string' },
  state: { type: 'string' },
  odd: { type: 'string', multiple: true },
} as const;

/** The option of each resource has its name. */
const COUNTED = BUILT_IN_RESOURCES.map(({ name }) => name as keyof typeof FLAGS);

/** Parses the command-line options. Throws an error with a message for the user if an option is invalid. */
export function readOptions(args: readonly string[], environment: NodeJS.ProcessEnv): SimulatorOptions {
  const { values } = parseArgs({ args: [...args], options: FLAGS });
  const number = (name: keyof typeof values): number | undefined => {
    const text = values[name];
    if (text === undefined) return undefined;
    if (typeof text !== 'string' || !/^\d+$/.test(text)) throw new Error(`--${name} must be a whole number`);
    return Number(text);
  };
  const choice = <T extends string>(name: keyof typeof values, allowed: readonly T[]): T | undefined => {
    const found = allowed.find((one) => one === values[name]);
    if (values[name] !== undefined && found === undefined)
      throw new Error(`--${name} must be one of ${allowed.join(', ')}`);
    return found;
  };
  const counts = COUNTED.flatMap((name): [string, number][] => {
    const count = number(name);
    return count === undefined ? [] : [[name, count]];
  });
  const secret = environment.WORKTRACK_SIMULATOR_KEY ?? values.key ?? DEMO_KEY;
  const options = {
    host: values.host,
    port: number('port'),
    seed: number('seed'),
    counts: Object.fromEntries(counts),
    pageDefault: number('page-default'),
    pageMax: number('page-max'),
    awkward: values.plain === true ? false : undefined,
    awkwardEvery: number('awkward-every'),
    data: choice('data', ['generic', 'worded', 'realistic']),
    order: choice('order', ['id', 'updatedAt', '-updatedAt', 'random']),
    cursorStyle: choice('cursor-style', ['keyset', 'offset']),
    gzip: choice('gzip', ['large', 'always', 'off']),
    now: number('now'),
    stateFile: values.state,
    odd: values.odd,
    keys: [{ key: secret, name: 'demo', organization: DEMO_ORGANIZATION, grants: ['*'] }],
  };
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as SimulatorOptions;
}

/**
 * `worktrack simulator`: runs the simulated service until a signal stops it, and prints its URL as JSON. If an option is invalid or
 * the service cannot start, it prints why.
 */
export async function runSimulator(args: readonly string[]): Promise<ExitCode> {
  try {
    const options = readOptions(args, process.env);
    if (options.odd?.includes('list') === true) {
      process.stdout.write(`${oddList()}\n`);
      return EXIT.done;
    }
    const { url, port } = await startUntilSignal(options);
    process.stdout.write(`${JSON.stringify({ url, port, pid: process.pid })}\n`);
  } catch (error) {
    process.stderr.write(`simulator: ${errorMessage(error)}\n`);
    return EXIT.usage;
  }
  return new Promise(() => {});
}

/** Starts the service, seeds its data so that the first request does not wait for them, and ends the process at a signal. */
export async function startUntilSignal(options: SimulatorOptions): Promise<Simulator> {
  const simulator = await startSimulator(options);
  for (const name of COUNTED) simulator.admin.prepare(name);
  const stop = (): void => {
    void simulator.close().then(() => process.exit(0));
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  return simulator;
}
