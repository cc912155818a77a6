import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { parseSettings } from '../../../src/config/index.js';
import { serverSpec } from '../../../src/servers/index.js';
import { schemaErrors } from '../../support/deployment-schemas.js';

interface Compose {
  readonly services: Readonly<Record<string, { readonly image?: string; readonly environment?: object }>>;
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
  }, 180_000);

  it('have configurations that are valid, with secrets by reference only', () => {
    const config = kubernetes.find(({ kind }) => kind === 'ConfigMap')?.data?.['worktrack.yaml'] ?? '';
    for (const text of [compose.configs.worktrack.content, config]) {
      const { connections } = parseSettings(text, 'worktrack.yaml');
      expect(connections[0]?.apiKey).toHaveProperty('file');
    }
    expect(JSON.stringify(compose.services)).not.toMatch(/SECRET[A-Z_]*":"(?!\$\{)/);
    expect(kubernetes.map(({ kind }) => kind)).not.toContain('Secret');
  });

  it('use the versions of the servers that the tests use', () => {
    expect(compose.services.temporal?.image).toBe(`temporalio/temporal:${serverSpec('temporal').version}`);
    expect(compose.services.s3?.image).toBe(`versity/versitygw:v${serverSpec('versitygw').version}`);
  });
});
