import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canShareProcess, runShared } from './command-hosts.js';
import { codeBlocks, pageAt } from './docs.js';
import type { Stack } from './stack.js';

/** The page with the smallest configuration and the commands that all others build on. */
export const FIRST_PAGE = 'docs/how-to/first-export.md';

const CLI = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
const DUCKDB = createRequire(import.meta.url).resolve('@duckdb/node-api');

/** `duckdb FILE < SCRIPT` and `duckdb -csv FILE QUERY`, for machines that have only the library. */
const DUCKDB_SHELL = `#!${process.execPath}
const { DuckDBInstance } = require(${JSON.stringify(DUCKDB)});
const { readFileSync } = require('node:fs');
(async () => {
  const [init, file, csv, command, query] = process.argv.slice(2);
  if (init !== '-init' || csv !== '-csv' || command !== '-c') throw new Error('not an option of this shell');
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  await connection.run(readFileSync(file, 'utf8'));
  const result = await connection.runAndReadAll(query);
  for (const row of [result.columnNames(), ...result.getRows()]) console.log(row.join(','));
  connection.closeSync();
  instance.closeSync();
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
`;

/** What a shell printed and ended with. */
export interface ShellRun {
  readonly child: ChildProcess;
  readonly exited: Promise<number | null>;
  printed(): string;
}

/** What a line printed, and the exit code. */
export interface Typed {
  readonly code: number | null;
  readonly stdout: string;
  readonly printed: string;
}

/** One command without anything that a shell replaces. */
const PLAIN = /^worktrack(?: +(?:[\w./:=@%,+-]+|'[^']*'))+$/;

/** A folder where a reader types what the pages say. */
export interface DocsWorld {
  readonly folder: string;
  shell(text: string, env?: NodeJS.ProcessEnv): ShellRun;
  /** Runs a line to its end, without a shell if it is only one command of worktrack. */
  typed(text: string, env?: NodeJS.ProcessEnv): Promise<Typed>;
  /** Writes the configuration that a page shows, or that of `FIRST_PAGE`, for the stack's service and store. */
  writeConfig(name: string, wanted: WantedConfig): Promise<string>;
}

export interface WantedConfig {
  readonly lake: string;
  /** More keys of the connection. */
  readonly more?: string;
  /** Path of the page. */
  readonly page?: string;
  /** URL of another service than the stack's. */
  readonly service?: string;
}

/** A folder with the commands `worktrack` and `duckdb`, to be put first into PATH. */
export async function createBin(parent: string): Promise<string> {
  const bin = join(parent, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'worktrack'), `#!/bin/sh\nexec "${process.execPath}" "${CLI}" "$@"\n`);
  await writeFile(join(bin, 'duckdb'), DUCKDB_SHELL);
  for (const name of ['worktrack', 'duckdb']) await chmod(join(bin, name), 0o755);
  return bin;
}

/** A bin folder with `worktrack`, `temporal` and `duckdb`, and an environment that points at the stack. */
export async function createDocsWorld(stack: Stack): Promise<DocsWorld> {
  const folder = join(stack.folder, 'reader');
  await mkdir(folder);
  const bin = await createBin(stack.folder);
  await symlink(stack.servers.temporalCli, join(bin, 'temporal'));
  const world: NodeJS.ProcessEnv = {
    ...stack.env,
    PATH: `${bin}:${process.env.PATH}`,
    BROWSER: 'true',
    XDG_STATE_HOME: join(stack.folder, 'state'),
    WORKTRACK_TEMPORAL_CLI: stack.servers.temporalCli,
    WORKTRACK_VERSITYGW: stack.servers.versitygw,
    WORKTRACK_WEBHOOK_SECRET: 'a-secret-of-the-test',
  };
  const shell: DocsWorld['shell'] = (text, env = {}) => {
    const child = spawn('bash', ['-c', text], { cwd: folder, env: { ...world, ...env } });
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        printed += String(chunk);
      });
    }
    const exited = once(child, 'close').then(([code]) => code as number | null);
    return { child, exited, printed: () => printed };
  };
  return {
    folder,
    shell,
    async typed(text, env = {}) {
      const words = text.match(/'[^']*'|[^ ]+/g) ?? [];
      const args = words.slice(1).map((word) => word.replaceAll("'", ''));
      const all = { ...world, ...env };
      if (PLAIN.test(text) && canShareProcess(args, all)) {
        const { code, stdout, stderr } = await runShared(args, all, folder);
        return { code, stdout, printed: stdout + stderr };
      }
      const run = shell(text, env);
      let stdout = '';
      run.child.stdout!.on('data', (chunk) => {
        stdout += String(chunk);
      });
      return { code: await run.exited, stdout, printed: run.printed() };
    },
    async writeConfig(name, { lake, more = '', page = FIRST_PAGE, service = stack.simulator.url }) {
      const whole = codeBlocks([pageAt(page), pageAt(FIRST_PAGE)]);
      const shown = whole.find(({ text }) => text.startsWith('connections:'))!;
      const { s3Endpoint, s3Region } = stack.servers;
      const yaml = shown.text
        .replace(/^ +(endpoint|forcePathStyle): .*\n/gm, '')
        .replace('https://tracker.example.com', service)
        .replace(/( +)url: .*/, `$1url: ${lake}\n$1endpoint: ${s3Endpoint}\n$1forcePathStyle: true`)
        .replace(/region: \S+/, `region: ${s3Region}`);
      const file = join(folder, name);
      await writeFile(file, `${yaml}\n${more}`);
      return file;
    },
  };
}
