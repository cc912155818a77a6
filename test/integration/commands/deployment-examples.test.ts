import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { parseSettings } from '../../../src/config/index.js';
import { serverSpec } from '../../../src/servers/index.js';
import { schemaErrors } from '../../support/deployment-schemas.js';

interface Service {
  readonly image?: string;
  readonly environment?: object;
  readonly command?: readonly string[];
  readonly restart?: string;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: object;
}

interface Deployment {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly topologySpreadConstraints: readonly object[];
        readonly containers: readonly { readonly args: readonly string[]; readonly image: string }[];
      };
    };
  };
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly configs: { readonly worktrack: { readonly content: string } };
}

interface Resource {
  readonly kind: string;
  readonly data?: Readonly<Record<string, string>>;
}

const compose = parse(readFileSync('examples/compose.yaml', 'utf8')) as Compose;
const kubernetes = parseAllDocuments(readFileSync('examples/kubernetes/worker.yaml', 'utf8')).map(
  (document) => document.toJS() as Resource,
);

describe('the examples of deployments', () => {
  it('match the schemas of Compose and Kubernetes, which reject mistakes', async () => {
    expect(await schemaErrors({ compose: [compose], kubernetes })).toEqual([]);
    const [first] = kubernetes;
    const wrong = {
      compose: [{ services: { worker: { imag: 'x' } } }],
      kubernetes: [{ ...first, metdata: {} }],
    };
    expect(await schemaErrors(wrong)).toHaveLength(2);
  });

  it('have configurations that are valid, with secrets by reference only', () => {
    const config = kubernetes.find(({ kind }) => kind === 'ConfigMap')?.data?.['worktrack.yaml'] ?? '';
    const values = parse(readFileSync('examples/helm/values.yaml', 'utf8')) as { readonly config: object };
    for (const text of [compose.configs.worktrack.content, config, stringify(values.config)]) {
      const { connections } = parseSettings(text, 'worktrack.yaml');
      expect(connections[0]?.apiKey).toHaveProperty('file');
    }
    expect(JSON.stringify(compose.services)).not.toMatch(/SECRET[A-Z_]*":"(?!\$\{)/);
    expect(kubernetes.map(({ kind }) => kind)).not.toContain('Secret');
  });

  it('use the versions of the servers that the tests use', () => {
    expect(compose.services.temporal?.image).toBe(`temporalio/temporal:${serverSpec('temporal').version}`);
    expect(compose.services.s3?.image).toMatch(
      new RegExp(`^versity/versitygw:v${serverSpec('versitygw').version.replaceAll('.', '\\.')}@sha256:`),
    );
  });

  it('have a chart of the version of the package', () => {
    const { version } = parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
    const chart = parse(readFileSync('examples/helm/Chart.yaml', 'utf8')) as object;
    expect(chart).toMatchObject({ version, appVersion: version });
  });

  it('do not restart forever, wait for a healthy store, and pin images by digest', () => {
    const { check, worker, s3, bucket } = compose.services;
    expect(worker?.restart).toMatch(/^on-failure:\d+$/);
    expect(check).toMatchObject({ command: ['config', 'check'], restart: 'no' });
    expect(worker?.depends_on).toEqual({
      check: { condition: 'service_completed_successfully' },
      temporal: { condition: 'service_healthy' },
      s3: { condition: 'service_healthy' },
    });
    expect(s3?.healthcheck?.test).toContain('http://127.0.0.1:7070/health');
    expect(s3?.command).toContain('/health');
    for (const { image } of [s3, bucket].flatMap((one) => one ?? []))
      expect(image).toMatch(/@sha256:[0-9a-f]{64}$/);
    const bases = readFileSync('Dockerfile', 'utf8').match(/^FROM .*$/gm)!;
    for (const line of bases) expect(line).toMatch(/@sha256:[0-9a-f]{64}( AS \w+)?$/);
  });

  it('run as any user, with a service account that has a role instead of stored keys', () => {
    const account = kubernetes.find(({ kind }) => kind === 'ServiceAccount') as unknown as {
      readonly metadata: { readonly name: string; readonly annotations: Readonly<Record<string, string>> };
    };
    expect(account.metadata.annotations['eks.amazonaws.com/role-arn']).toMatch(/^arn:aws:iam::\d{12}:role\//);
    const deployment = kubernetes.find(({ kind }) => kind === 'Deployment');
    expect(deployment).toMatchObject({
      spec: { template: { spec: { serviceAccountName: account.metadata.name } } },
    });
    expect(deployment).toHaveProperty('spec.template.spec.securityContext.runAsNonRoot', true);
    expect(JSON.stringify(deployment)).not.toMatch(/runAsUser|AWS_(ACCESS|SECRET)/);
  });

  it('spread workers over nodes, load a changed configuration, and keep secrets out of the history of the shell', () => {
    const deployment = kubernetes.find(({ kind }) => kind === 'Deployment') as unknown as Deployment;
    const { topologySpreadConstraints, containers } = deployment.spec.template.spec;
    expect(topologySpreadConstraints).toMatchObject([{ topologyKey: 'kubernetes.io/hostname' }]);
    expect(containers[0]?.args).toContain('--watch');
    expect(containers[0]?.image).toMatch(/@sha256:[0-9a-f]{64}$/);
    for (const file of ['compose.yaml', 'kubernetes/worker.yaml', 'helm/values.yaml'].map(
      (name) => `examples/${name}`,
    )) {
      const text = readFileSync(file, 'utf8');
      expect(text).not.toMatch(/from-literal|API_KEY=/);
      // The commands in the comments are as they work in the image.
      expect(text).not.toContain('node /app/');
    }
  });
});
