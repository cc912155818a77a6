import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { runCommand } from '../../../src/servers/run-command.js';
import { cachedFolder } from '../../support/cached-folder.js';
import { schemaErrors } from '../../support/deployment-schemas.js';
import { IS_LONG } from '../../support/seeds.js';

const HELM = '3.21.4';
const CHART = 'examples/helm';

interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

/** Helm's output. Builds Helm with Go once, for some minutes. */
async function helm(...args: string[]): Promise<string> {
  const signal = AbortSignal.timeout(30 * 60_000);
  const name = `helm-${HELM}-${process.platform}-${process.arch}`;
  const folder = await cachedFolder({ name, signal }, async (unfinished) => {
    const env = { ...process.env, GOBIN: unfinished, CGO_ENABLED: '0' };
    await runCommand('go', ['install', `helm.sh/helm/v3/cmd/helm@v${HELM}`], { env, cwd: tmpdir(), signal });
  });
  return runCommand(join(folder, 'helm'), args, { env: process.env, signal });
}

const rendered = async (...settings: string[]): Promise<Resource[]> => {
  const set = settings.flatMap((setting) => ['--set', setting]);
  const text = await helm('template', 'nightly', CHART, ...set);
  return parseAllDocuments(text).map((document) => document.toJS() as Resource);
};

const kinds = (resources: readonly Resource[]) => resources.map(({ kind }) => kind).sort();

describe.runIf(IS_LONG)('the chart for Helm', () => {
  it('passes Helm’s lint, and renders what the schemas of Kubernetes accept', async () => {
    expect(await helm('lint', '--strict', CHART)).toContain('0 chart(s) failed');
    for (const settings of [[], ['webhook.enabled=true'], ['webhook.enabled=true', 'worker.replicas=1']])
      expect(await schemaErrors({ compose: [], kubernetes: await rendered(...settings) })).toEqual([]);
  });

  it('has workers, their policy and the job of the Schedule, and the receiver if it is on', async () => {
    const worker = ['ConfigMap', 'Deployment', 'NetworkPolicy', 'PodDisruptionBudget'];
    expect(kinds(await rendered('schedule.enabled=false'))).toEqual([...worker, 'ServiceAccount']);
    expect(kinds(await rendered('networkPolicy.enabled=false'))).toEqual([
      'ConfigMap',
      'Deployment',
      'Job',
      'PodDisruptionBudget',
      'ServiceAccount',
      'ServiceAccount',
    ]);
    const all = await rendered('webhook.enabled=true');
    expect(kinds(all).filter((kind) => kind === 'Deployment')).toHaveLength(2);
    expect(kinds(all)).toContain('Service');
    for (const { metadata } of all) expect(metadata.name).toMatch(/^nightly(-|$)/);
  });

  it('gives a role to workers only, and no pod a token of Kubernetes', async () => {
    const all = await rendered('webhook.enabled=true');
    const accounts = all.filter(({ kind }) => kind === 'ServiceAccount');
    expect(
      accounts.filter(({ metadata }) => 'annotations' in metadata).map(({ metadata }) => metadata.name),
    ).toEqual(['nightly-worker']);
    for (const resource of all.filter(({ kind }) => ['Deployment', 'Job'].includes(kind)))
      expect(resource).toMatchObject({
        spec: {
          template: {
            spec: { automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } },
          },
        },
      });
  });
});
