import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { resolveServer, startTemporalDevServer, startVersitygw } from '../../src/servers/index.js';
import { findDeltaRs } from './delta-rs.js';
import { type Frictionless, findFrictionless } from './frictionless.js';
import type { PythonPackage } from './python-packages.js';
import { TEST_SERVER } from './time-skipping-server.js';

/** The addresses of the servers that all integration tests share. Each test uses unique names on them. */
export interface SharedServers {
  readonly temporalAddress: string;
  readonly temporalCli: string;
  readonly versitygw: string;
  readonly testServer: string;
  readonly s3Endpoint: string;
  readonly s3Region: string;
  readonly s3AccessKeyId: string;
  readonly s3SecretAccessKey: string;
  /** Objects are plain files below it. */
  readonly s3DataFolder: string;
  readonly frictionless: Frictionless;
  readonly deltaRs: PythonPackage;
}

declare module 'vitest' {
  export interface ProvidedContext {
    servers: SharedServers;
    /** The logs of the servers, whose last lines the report of a failure shows. */
    serverLogs: readonly string[];
  }
}

/**
 * Starts the servers once for all files. They were installed in a step before (`npm run servers`). The time-skipping
 * server and the validator, which only tests need, are installed here, where no test counts the time.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-test-'));
  const [temporalLog, s3Log] = [join(folder, 'temporal.log'), join(folder, 's3.log')];
  const temporalCli = (await resolveServer('temporal')).path;
  const versitygw = (await resolveServer('versitygw')).path;
  const testServer = (await resolveServer(TEST_SERVER)).path;
  const frictionless = await findFrictionless();
  const deltaRs = await findDeltaRs();
  // Both servers are written in Go. With fewer collections they take a tenth less CPU time.
  process.env.GOGC ??= '400';
  const temporal = await startTemporalDevServer({
    executable: temporalCli,
    headless: true,
    logFile: temporalLog,
  });
  const dataDir = join(folder, 's3');
  const s3 = await startVersitygw({
    executable: versitygw,
    dataDir,
    iamDir: join(folder, 'iam'),
    logFile: s3Log,
  });
  project.provide('serverLogs', [temporalLog, s3Log]);
  project.provide('servers', {
    temporalAddress: temporal.address,
    temporalCli,
    versitygw,
    testServer,
    s3Endpoint: s3.endpoint,
    s3Region: s3.region,
    s3AccessKeyId: s3.accessKeyId,
    s3SecretAccessKey: s3.secretAccessKey,
    s3DataFolder: dataDir,
    frictionless,
    deltaRs,
  });
  return async () => {
    await Promise.all([temporal.stop(), s3.stop()]);
    await rm(folder, { recursive: true, force: true });
  };
}
