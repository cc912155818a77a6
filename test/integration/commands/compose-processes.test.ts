import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { parse } from 'yaml';
import { DEMO_KEY, type Simulator, startSimulator } from '../../../src/simulator/index.js';
import { freePort } from '../../support/ports.js';
import { longOnly } from '../../support/seeds.js';
import { until } from '../../support/stack.js';

interface Service {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly healthcheck?: { readonly test: readonly [string, ...string[]] };
}

interface Compose {
  readonly services: Readonly<Record<'temporal' | 'bucket' | 's3' | 'check' | 'worker', Service>>;
  readonly configs: { readonly worktrack: { readonly content: string } };
}

const { services, configs } = parse(readFileSync('examples/compose.yaml', 'utf8')) as Compose;
const dockerfile = readFileSync('Dockerfile', 'utf8').replaceAll('\\\n', ' ');
const listOf = (instruction: string): string[] => {
  const [, list = '[]'] = new RegExp(`^${instruction} (\\[.*\\])$`, 'm').exec(dockerfile)!;
  return JSON.parse(list) as string[];
};
const [NODE = '', MAIN = ''] = listOf('ENTRYPOINT');
const [, variables = ''] = /^ENV (.*)$/m.exec(dockerfile)!;
const IMAGE_ENV = Object.fromEntries(
  variables.split(/ +/).map((setting) => setting.split(/=(.*)/s) as [string, string]),
);

/**
 * Starts each container of `examples/compose.yaml` with its own command and variables, but as a process: paths, ports and
 * host names of the containers become those of a temporary folder and of loopback. The images are not part of it.
 */
let folder: string;
let simulator: Simulator;
let replaced: readonly (readonly [string, string])[];
const running: ChildProcess[] = [];
const output = new Map<ChildProcess, string>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'worktrack-compose-'));
  simulator = await startSimulator({ counts: { projects: 3 } });
  const [temporal, s3, health] = [await freePort(), await freePort(), await freePort()];
  replaced = [
    ['/run/secrets/', `${folder}/`],
    ['/etc/worktrack/', `${folder}/`],
    ['/app/dist/', `${resolve('dist')}/`],
    ['http://s3:7070', `http://127.0.0.1:${s3}`],
    ['http://127.0.0.1:7070', `http://127.0.0.1:${s3}`],
    ['127.0.0.1:8081', `127.0.0.1:${health}`],
    [':7070', `127.0.0.1:${s3}`],
    ['temporal:7233', `127.0.0.1:${temporal}`],
    ['0.0.0.0', '127.0.0.1'],
    ['https://tracker.example.com', simulator.url],
  ];
  for (const name of ['temporal', 'lake']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'api-key'), DEMO_KEY, { mode: 0o600 });
  writeFileSync(join(folder, 'worktrack.yaml'), local(configs.worktrack.content, services.worker));
});
afterAll(async () => {
  for (const child of running.reverse()) {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await ended;
  }
  await simulator.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A text of the file, with the places of this machine. */
function local(text: string, { volumes = [] }: Service): string {
  const mounts = volumes.map((volume) => volume.split(':') as [string, string]);
  const places = mounts.map(([name, path]) => [path, join(folder, name)] as const);
  const filled = text.replaceAll(/\$\{(\w+):\?[^}]*\}/g, 'value-of-$1');
  const isAtStart = ([from]: readonly [string, string]) => !from.startsWith(':') || filled.startsWith(from);
  return [...replaced, ...places]
    .filter(isAtStart)
    .reduce((changed, [from, to]) => changed.replaceAll(from, to), filled);
}

const temporalPort = (): string => local('temporal:7233', services.temporal).split(':')[1]!;

function start(service: Service, program: string, args: readonly string[]): ChildProcess {
  const variables = Object.entries({ ...IMAGE_ENV, ...service.environment });
  const env = Object.fromEntries(variables.map(([name, value]) => [name, local(value, service)]));
  const child = spawn(
    program,
    args.map((arg) => local(arg, service)),
    {
      env: { PATH: process.env.PATH, HOME: folder, USER: 'node', ...env },
      cwd: folder,
    },
  );
  output.set(child, '');
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => output.set(child, output.get(child)! + String(chunk)));
  return child;
}

async function runs(service: Service, program: string, args: readonly string[]): Promise<void> {
  const child = start(service, program, args);
  const [code] = await once(child, 'close');
  expect(code, output.get(child)).toBe(0);
}

/** Starts a server, and waits until its health check succeeds. */
async function serves(service: Service, program: string, args: readonly string[], check: readonly string[]) {
  const server = start(service, program, args);
  running.push(server);
  const [checker = '', ...given] = check;
  await until(async () => {
    if (server.exitCode !== null) throw new Error(output.get(server));
    const [code] = await once(start(service, checker, given), 'close');
    return code === 0;
  }, `${program} is healthy`);
}

// `commands/deployment-examples.test.ts` checks the Compose file.
longOnly(
  'each container of the Compose file runs with its command and variables, and the commands in its comments succeed',
  async () => {
    const { temporalCli, versitygw } = inject('servers');
    const { temporal, bucket, s3, check, worker } = services;
    const ports = ['--port', temporalPort(), '--headless'];
    const [, , ...health] = temporal.healthcheck!.test;
    await serves(
      temporal,
      temporalCli,
      [...temporal.command!, ...ports],
      [temporalCli, ...health, ...['--address', `127.0.0.1:${temporalPort()}`]],
    );
    const [mkdir = '', ...made] = bucket.command!;
    await runs(bucket, mkdir, made);
    await serves(s3, versitygw, s3.command!, s3.healthcheck!.test.slice(1));
    await runs(check, NODE, [MAIN, ...check.command!]);
    await serves(worker, NODE, [MAIN, ...listOf('CMD')], listOf('HEALTHCHECK .* CMD'));

    const text = readFileSync('examples/compose.yaml', 'utf8');
    const commands = text.match(/(?<=^#.* exec worker worktrack ).*$/gm)!;
    expect(commands).toEqual(['doctor', 'schedule apply']);
    for (const command of [...commands, 'export --resource projects'])
      await runs(worker, NODE, [MAIN, ...command.split(' ')]);
    expect(output.get(running.at(-1)!)).toContain('"projects"');
  },
);
