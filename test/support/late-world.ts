import { randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { parseSettings } from '../../src/config/index.js';
import type { ObjectKey } from '../../src/core/brands.js';
import { folderOf, nameOf } from '../../src/lake/documents/lake-layout.js';
import { decodeManifest } from '../../src/lake/documents/manifest.js';
import { verifySnapshot } from '../../src/lake/verify/verify-lake.js';
import { ensureBucket } from '../../src/servers/index.js';
import {
  DEMO_KEY,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from '../../src/simulator/index.js';
import { type LateRequests, startLateRequests } from './late-requests.js';
import { ManualMirror } from './manual-mirror.js';
import { assertRowEquals } from './oracle.js';
import { sharedS3 } from './shared-s3.js';
import { readSnapshot } from './snapshot.js';
import { checkTidy } from './tidy.js';

export const RESOURCE = 'tasks';
const BUCKET = 'late-requests';
/** Of this process, because test files share the bucket. */
const RUN = randomBytes(4).toString('hex');
let lakes = 0;

/** A mirror with its own service, lake and store proxy. */
export interface LateWorld {
  readonly simulator: Simulator;
  readonly mirror: ManualMirror;
  readonly proxy: LateRequests;
  /** A second mirror of the same connection and lake, as in another namespace. */
  other(): ManualMirror;
  /** Changes some records and makes one. */
  change(): string;
  /** Compares the lake with the service, and checks its own consistency. */
  check(): Promise<void>;
  /** Objects that a successful run must not leave: staged objects, and objects that no manifest on the chain names. */
  checkTidy(): Promise<void>;
  /** Objects of the lake whose uncompressed text contains it. */
  objectsWith(text: string): Promise<string[]>;
  stop(): Promise<void>;
}

export async function startLateWorld(
  simulatorOptions: SimulatorOptions = { awkward: false, counts: { [RESOURCE]: 12 } },
  resources = `[${RESOURCE}]`,
): Promise<LateWorld> {
  const access = sharedS3();
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: access.accessKeyId,
    AWS_SECRET_ACCESS_KEY: access.secretAccessKey,
    WORKTRACK_API_KEY: DEMO_KEY,
  });
  if (lakes === 0) await ensureBucket(access, BUCKET);
  const lake = `s3://${BUCKET}/${RUN}-${lakes++}`;
  const simulator = await startSimulator(simulatorOptions);
  const proxy = await startLateRequests(access.endpoint);
  const settings = (endpoint: string) =>
    parseSettings(
      `connections:
  acme:
    baseUrl: ${simulator.url}
    apiKey: { env: WORKTRACK_API_KEY }
    lake: { url: "${lake}", endpoint: "${endpoint}", region: ${access.region}, forcePathStyle: true }
    resources: ${resources}
`,
      'worktrack.yaml',
    );
  const both = { direct: settings(access.endpoint), cut: settings(proxy.url) };
  const resource = both.direct.connections[0]!.resources[0]!.name;
  const mirrors = [new ManualMirror(both, proxy, resource)];
  const [mirror] = mirrors as [ManualMirror];
  const { store } = mirror;
  const { admin } = simulator;

  const objects = async (prefix: string): Promise<ObjectKey[]> => {
    const keys: ObjectKey[] = [];
    for await (const { key } of store.list(prefix)) keys.push(key);
    return keys;
  };
  return {
    simulator,
    mirror,
    proxy,
    other() {
      mirrors.push(new ManualMirror(both, proxy, resource));
      return mirrors.at(-1)!;
    },
    change() {
      admin.touch(resource, { count: 2, pick: 'spread' });
      return admin.create(resource, { name: `made ${Math.random()}` });
    },
    async check() {
      expect((await verifySnapshot(store, resource)).problems).toEqual([]);
      const records = admin.records(resource).map((text) => [(JSON.parse(text) as { id: string }).id, text]);
      const { rows } = await readSnapshot(store, resource);
      expect(rows.map(({ id }) => id).sort()).toEqual(records.map(([id]) => id).sort());
      const byId = new Map(records as [string, string][]);
      for (const row of rows) assertRowEquals(row, byId.get(row.id!)!);
      // Every manifest names parts that are there, whichever snapshot a reader takes.
      for (const key of (await objects(resource)).filter((one) => nameOf(one) === '_datapackage.json'))
        for (const part of decodeManifest(await store.read(key), folderOf(key)).parts)
          expect((await store.head(part.key))?.bytes, part.key).toBe(part.bytes);
    },
    checkTidy: () => checkTidy(store, resource),
    async objectsWith(text) {
      const found: string[] = [];
      for (const key of await objects('')) {
        const body = await store.read(key);
        if ((key.endsWith('.gz') ? gunzipSync(body) : body).toString('utf8').includes(text)) found.push(key);
      }
      return found;
    },
    async stop() {
      for (const one of mirrors) await one.close();
      await proxy.close();
      await simulator.close();
    },
  };
}
