import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseSettings } from '../../config/index.js';
import { DEFAULT_TASK_QUEUE } from '../../core/contract/index.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { ensureBucket, resolveServer, startVersitygw } from '../../servers/index.js';
import { DEMO_KEY, type Simulator, startSimulator } from '../../simulator/index.js';
import { type LocalTemporal, startLocalTemporal } from '../worker/local-temporal.js';
import { demoCounts } from './demo-service.js';

const BUCKET = 'demo-lake';
const PREFIX = 'worktrack';

export interface DemoServers {
  readonly simulator: Simulator;
  readonly local: LocalTemporal;
  readonly connection: ConnectionSettings;
  readonly configFile: string;
  readonly lakeFolder: string;
  stop(): Promise<void>;
}

/** Starts the simulated service, an S3 server, a Temporal server and a worker. @throws ServerInstallError, ServerStartError */
export async function startDemoServers(
  folder: string,
  timeEntries: number,
  data: 'generic' | 'realistic',
): Promise<DemoServers> {
  const logs = join(folder, 'logs');
  const dataDir = join(folder, 's3');
  await mkdir(logs);
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const one of stops.splice(0).reverse()) await one();
  };
  try {
    const { path: executable } = await resolveServer('versitygw');
    const files = { dataDir, iamDir: join(folder, 'iam'), logFile: join(logs, 's3.log') };
    const s3 = await startVersitygw({ executable, ...files });
    stops.push(() => s3.stop());
    await ensureBucket(s3, BUCKET);
    const simulator = await startSimulator({ counts: demoCounts(timeEntries), data });
    stops.push(() => simulator.close());
    const yaml = demoConfig(simulator.url, s3.endpoint, s3.region);
    const configFile = join(folder, 'worktrack.yaml');
    await writeFile(configFile, yaml);
    useCredentials(s3);
    const settings = parseSettings(yaml, configFile);
    const connection = settings.connections[0]!;
    const options = { folder: logs, keepState: false, settings, taskQueue: DEFAULT_TASK_QUEUE };
    const local = await startLocalTemporal(options);
    stops.push(() => local.stop());
    const lakeFolder = join(dataDir, BUCKET, PREFIX);
    return { simulator, local, connection, configFile, lakeFolder, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function demoConfig(baseUrl: string, endpoint: string, region: string): string {
  return `# The configuration of the demo. Its servers stop when the demo ends.
connections:
  demo:
    baseUrl: ${baseUrl}
    apiKey: { env: WORKTRACK_DEMO_API_KEY }
    lake: { url: "s3://${BUCKET}/${PREFIX}", endpoint: "${endpoint}", region: ${region}, forcePathStyle: true }
    resources: [projects, tasks, time-entries, calendar-entries, members]
`;
}

/** Sets the environment variables that the worker in this process reads, and removes the user's own AWS settings. */
function useCredentials(access: { readonly accessKeyId: string; readonly secretAccessKey: string }): void {
  for (const name of Object.keys(process.env))
    if (/^AWS_(PROFILE|SESSION_TOKEN|ENDPOINT_URL.*)$/.test(name)) delete process.env[name];
  process.env.AWS_ACCESS_KEY_ID = access.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = access.secretAccessKey;
  process.env.WORKTRACK_DEMO_API_KEY = DEMO_KEY;
}
