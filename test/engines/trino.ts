import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { loopback, startProcess } from '../../src/servers/start/start-server.js';
import { findTrino } from '../support/maven-artifacts.js';
import { freePort } from '../support/ports.js';

/** On two busy cores, the start takes minutes. */
const START_MS = 8 * 60_000;

export interface Trino {
  readonly url: string;
  stop(): Promise<void>;
}

export interface TrinoOptions {
  readonly version: string;
  readonly java: string;
  readonly folder: string;
  readonly s3: {
    readonly endpoint: string;
    readonly region: string;
    readonly keyId: string;
    readonly secret: string;
  };
}

/** Starts a server with the catalogs `csv` (Hive) and `delta` (Delta Lake), whose metastores are folders. @throws Error with its log */
export async function startTrino({ version, java, folder, s3 }: TrinoOptions): Promise<Trino> {
  const installed = await findTrino(version);
  const port = await freePort();
  const url = `http://${loopback}:${port}`;
  await mkdir(join(folder, 'etc/catalog'), { recursive: true });
  const write = (file: string, settings: Readonly<Record<string, string>>) =>
    writeFile(
      join(folder, 'etc', file),
      Object.entries(settings)
        .map(([key, value]) => `${key}=${value}\n`)
        .join(''),
      { mode: 0o600 },
    );
  const files = {
    'hive.metastore': 'file',
    'fs.native-local.enabled': 'true',
    'local.location': folder,
    'fs.native-s3.enabled': 'true',
    's3.endpoint': s3.endpoint,
    's3.region': s3.region,
    's3.path-style-access': 'true',
    's3.aws-access-key': s3.keyId,
    's3.aws-secret-key': s3.secret,
  };
  await write('config.properties', {
    coordinator: 'true',
    'node-scheduler.include-coordinator': 'true',
    'http-server.http.port': String(port),
    'discovery.uri': url,
    'plugin.dir': join(installed, 'plugin'),
    'catalog.config-dir': join(folder, 'etc/catalog'),
  });
  await write('catalog/csv.properties', {
    'connector.name': 'hive',
    'hive.metastore.catalog.dir': 'local:///csv',
    'hive.recursive-directories': 'true',
    ...files,
  });
  await write('catalog/delta.properties', {
    'connector.name': 'delta_lake',
    'hive.metastore.catalog.dir': 'local:///delta',
    'delta.register-table-procedure.enabled': 'true',
    ...files,
  });
  const logFile = join(folder, 'trino.log');
  const args = [
    ...['-Xmx1500m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Djdk.attach.allowAttachSelf=true'],
    ...['--enable-native-access=ALL-UNNAMED', '--sun-misc-unsafe-memory-access=allow'],
    ...['-Dnode.environment=test', '-Dnode.id=test', `-Dnode.data-dir=${join(folder, 'data')}`],
    ...[`-Dnode.internal-address=${loopback}`, `-Dnode.bind-ip=${loopback}`],
    `-Dconfig=${join(folder, 'etc/config.properties')}`,
    ...['-cp', `${installed}/lib/*`, 'io.trino.server.TrinoServer'],
  ];
  const server = startProcess({ executable: java, args, env: { PATH: process.env.PATH }, logFile });
  let ended: string | null = null;
  void server.ended.then((how) => {
    ended = how;
  });
  const until = Date.now() + START_MS;
  while (!(await readFile(logFile, 'utf8')).includes('SERVER STARTED')) {
    if (ended !== null || Date.now() > until) {
      await server.kill();
      throw new Error(`Trino ${version} did not start (${ended}): ${server.lastLines(20)}`);
    }
    await delay(500);
  }
  return { url, stop: () => server.kill() };
}
