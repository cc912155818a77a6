import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../src/servers/run-command.js';
import { findPythonPackage } from './python-packages.js';

const KUBERNETES_VALIDATE = '1.37.0';
const KUBERNETES = '1.34';
/** The schema of Compose files is in this Go module. */
const COMPOSE = 'github.com/compose-spec/compose-go/v2@v2.16.2';
const SCRIPT = fileURLToPath(new URL('validate-deployment.py', import.meta.url));

interface Documents {
  readonly compose: readonly unknown[];
  readonly kubernetes: readonly unknown[];
}

/** What the schemas of Compose and Kubernetes say of documents. @returns errors @throws Error if a schema cannot be installed */
export async function schemaErrors(documents: Documents): Promise<string[]> {
  const requirements = [`kubernetes-validate==${KUBERNETES_VALIDATE}`];
  const name = 'kubernetes-validate';
  const found = await findPythonPackage({ name, version: KUBERNETES_VALIDATE, requirements });
  if ('problem' in found) throw new Error(found.problem);
  const given = { ...documents, composeSchema: await composeSchema(), kubernetesVersion: KUBERNETES };
  const env = { ...process.env, PYTHONPATH: found.folder, PYTHONNOUSERSITE: '1' };
  const child = spawn('python3', [SCRIPT], { env, stdio: 'pipe' });
  child.stdin.end(JSON.stringify(given));
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number]>,
  ]);
  if (code !== 0) throw new Error(`the validator ended with ${code}: ${err}`);
  return JSON.parse(out) as string[];
}

async function composeSchema(): Promise<string> {
  const signal = AbortSignal.timeout(120_000);
  const out = await runCommand('go', ['mod', 'download', '-json', COMPOSE], {
    env: process.env,
    cwd: tmpdir(),
    signal,
  });
  const { Dir } = JSON.parse(out) as { readonly Dir: string };
  return join(Dir, 'schema/compose-spec.json');
}
