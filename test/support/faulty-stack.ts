import { ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { expect } from 'vitest';
import { type S3Access, s3ClientConfig } from '../../src/servers/index.js';
import { type FaultyS3, startFaultyS3 } from './faulty-s3.js';
import { createLarge } from './large-records.js';
import { sharedS3 } from './shared-s3.js';
import { isStaged } from './snapshot.js';
import { type Stack, startStack } from './stack.js';

/** Together more than one upload of a part takes. */
const LARGE_RECORDS = 30;

/** A stack with a fault-injecting proxy in front of its S3 server. */
export interface FaultyStack {
  readonly stack: Stack;
  readonly s3: FaultyS3;
  /** Past the proxy. */
  readonly access: S3Access;
  readonly client: S3Client;
  stop(): Promise<void>;
}

/**
 * @param yaml more keys of the connection, as `startStack` takes them
 * @param csv the key `csv`
 */
export async function startFaultyStack(
  yaml = '',
  csv = '    csv: { compression: none }\n',
): Promise<FaultyStack> {
  const access = sharedS3();
  const s3 = await startFaultyS3(access);
  const client = new S3Client(s3ClientConfig(access));
  const stack = await startStack({
    s3Endpoint: s3.url,
    simulator: { seed: 5, counts: { tasks: 120, members: 0 } },
    resources: '[tasks, members]',
    yaml: `    sync: { pageSize: 20 }\n${csv}${yaml}`,
  });
  return {
    stack,
    s3,
    access,
    client,
    async stop() {
      await stack.stop();
      await s3.close();
      client.destroy();
    },
  };
}

/** Gives `members` records that make a part of several uploads. */
export function addLargeRecords({ stack }: FaultyStack): void {
  createLarge(stack.simulator, 'members', LARGE_RECORDS);
}

/** Checks that no upload is open and nothing is staged. A probe object that a fault has hit may wait for a later clean-up. */
export async function expectNothingLeft({ stack, client }: FaultyStack): Promise<void> {
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: stack.bucket }));
  expect(Uploads).toEqual([]);
  for await (const { key } of stack.store.list('_staging/'))
    if (isStaged(key)) expect.unreachable(`${key} is left`);
}
