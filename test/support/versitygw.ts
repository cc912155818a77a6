import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveServer, startVersitygw } from '../../src/servers/index.js';

export interface TestS3 {
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Objects are plain files below it. */
  readonly dataFolder: string;
  stop(): Promise<void>;
}

/** Starts a versitygw of this test's own on a free port of loopback, with an empty data folder. */
export async function startTestS3(): Promise<TestS3> {
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-s3-'));
  const dataFolder = join(folder, 'data');
  const { path: executable } = await resolveServer('versitygw');
  const { endpoint, accessKeyId, secretAccessKey, kill } = await startVersitygw({
    executable,
    dataDir: dataFolder,
    iamDir: join(folder, 'iam'),
    logFile: join(folder, 'log'),
  });
  return {
    endpoint,
    accessKeyId,
    secretAccessKey,
    dataFolder,
    async stop() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
