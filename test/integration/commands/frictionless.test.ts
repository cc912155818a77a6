import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MANIFEST } from '../../../src/lake/documents/lake-layout.js';
import { findFrictionless, type PackageReport, validatePackages } from '../../support/frictionless.js';
import { drawn } from '../../support/seeds.js';
import { readPointer } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

const RESOURCES = `
      - tasks
      - { name: time-entries, csv: { compression: none, delimiter: ";" } }
      - { name: projects, csv: { delimiter: "\\t", partSize: 4KiB } }
      - { name: calendar-entries, window: 90d, key: [source, sourceKey], csv: { nested: flatten, lineBreaks: escape } }
      - members`;

interface Package {
  resources: { path: string; rowCount: number; hash: string; bytes: number; schema: { fields: object[] } }[];
}

describe('the manifests, as the Frictionless validator reads them', () => {
  let stack: Stack;
  let manifests: string[];
  let scratch: string;
  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'worktrack-frictionless-'));
    stack = await startStack({
      simulator: {
        seed: 33,
        awkwardEvery: 4,
        counts: { tasks: 150, 'time-entries': 200, projects: 1500, 'calendar-entries': 60, members: 0 },
      },
      resources: RESOURCES,
    });
    await stack.startWorker();
    const { admin } = stack.simulator;
    for (const changed of [0, 9, 0]) {
      for (const resource of ['tasks', 'time-entries', 'projects']) {
        admin.touch(resource, { count: changed, pick: 'spread' });
      }
      expect((await stack.export()).outcome).toBe('published');
    }
    manifests = [];
    for await (const { key } of stack.store.list('')) {
      if (key.endsWith(`/${MANIFEST}`)) manifests.push(join(stack.lakeFolder, key));
    }
  });
  afterAll(async () => {
    await rm(scratch, { recursive: true, force: true });
    await stack?.stop();
  });

  const validate = (paths: readonly string[]): Promise<PackageReport[]> =>
    validatePackages(stack.servers.frictionless, paths);

  it('are all valid: every snapshot and change log of every run, whatever the CSV options', async () => {
    expect(manifests.length).toBe(3 * 5 * 2);
    const reports = await validate(manifests);
    expect(reports.map(({ path }) => path)).toEqual(manifests);
    const parts = new Map<string, number>();
    for (const { path, resources, errors } of reports) {
      const { resources: listed } = JSON.parse(await readFile(path, 'utf8')) as Package;
      expect(resources, path).toBe(listed.length);
      parts.set(path, resources);
      // A field without a name is the service's, and the header keeps it.
      const nameless = JSON.stringify(listed[0]!.schema.fields).includes('"name":""');
      const others = errors.filter(({ type }) => !(nameless && type === 'blank-label'));
      expect(others, path).toEqual([]);
    }
    expect(Math.max(...parts.values())).toBeGreaterThan(3);
  });

  type Damage = (first: Package['resources'][number]) => Partial<Package['resources'][number]>;
  const damages: [what: string, type: string, damage: Damage][] = [
    ['a wrong hash', 'hash-count', () => ({ hash: `sha256:${'0'.repeat(64)}` })],
    ['a wrong rowCount', 'row-count', ({ rowCount }) => ({ rowCount: rowCount + 1 })],
    ['a wrong size', 'byte-count', ({ bytes }) => ({ bytes: bytes - 1 })],
    ['a column too few', 'extra-label', ({ schema }) => ({ schema: { fields: schema.fields.slice(0, -1) } })],
    ['a part that is not there', 'scheme-error', () => ({ path: 'part-00000-nowhere.csv' })],
  ];
  it.each(drawn(damages, 2))('are not valid with %s', async (_what, type, damage) => {
    const paths: string[] = [];
    for (const resource of ['tasks', 'time-entries']) {
      const { snapshot } = await readPointer(stack.store, resource);
      const folder = join(scratch, `${resource}-${type}`);
      await cp(dirname(join(stack.lakeFolder, snapshot)), folder, { recursive: true });
      const path = join(folder, MANIFEST);
      const manifest = JSON.parse(await readFile(path, 'utf8')) as Package;
      const first = manifest.resources[0]!;
      Object.assign(first, damage(first));
      await writeFile(path, JSON.stringify(manifest));
      paths.push(path);
    }
    for (const { path, errors } of await validate(paths))
      expect(
        errors.map((error) => error.type),
        path,
      ).toContain(type);
  });

  it('cannot pass this test if the validator is not available', async () => {
    const missing = await findFrictionless({ PATH: scratch, WORKTRACK_CACHE: scratch });
    await expect(validatePackages(missing, manifests)).rejects.toThrow(
      /cannot be installed; it needs python3/,
    );
  });
});
