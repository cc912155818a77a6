import {
  CopyObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { describe, expect, it, vi } from 'vitest';
import { sortMiddlewareOnce } from '../../../../src/lake/store/s3/middleware-order.js';

interface Sent {
  readonly method: string;
  readonly hostname: string;
  readonly path: string;
  readonly query: object;
  readonly headers: Record<string, string>;
}

/** A client whose requests are answered here, and what it sends, apart from what differs each time. */
function listening() {
  const sent: Sent[] = [];
  const handle = async ({ method, hostname, path, query, headers }: Sent) => {
    const { authorization, 'amz-sdk-invocation-id': _, 'x-amz-date': __, ...same } = headers;
    sent.push({ method, hostname, path, query, headers: { ...same, signed: signedIn(authorization!) } });
    return { response: { statusCode: 404, headers: {}, body: new Uint8Array() } };
  };
  const client = new S3Client({
    region: 'eu-central-1',
    credentials: { accessKeyId: 'someone', secretAccessKey: 'made up' },
    maxAttempts: 1,
    requestHandler: { handle } as never,
  });
  return { client, sent };
}

/** The headers that a signature covers. The signature itself contains the time. */
function signedIn(authorization: string): string {
  return /SignedHeaders=([^,]*)/.exec(authorization)![1]!;
}

const kinds = (Bucket: string) => [
  new PutObjectCommand({ Bucket, Key: 'a', Body: 'text', IfNoneMatch: '*' }),
  new GetObjectCommand({ Bucket, Key: 'a/b c', Range: 'bytes=0-9' }),
  new HeadObjectCommand({ Bucket, Key: 'a' }),
  new ListObjectsV2Command({ Bucket, Prefix: 'lake/' }),
  new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key: 'a' }, { Key: 'b' }] } }),
  new CopyObjectCommand({ Bucket, Key: 'b', CopySource: `${Bucket}/a` }),
];

describe('A client that sorts its middlewares once', () => {
  it('sends what any other sends, also of several buckets at a time', async () => {
    const [plain, sorted] = [listening(), listening()];
    sortMiddlewareOnce(sorted.client);
    for (const { client } of [plain, sorted]) {
      const commands = ['one', 'two', 'three', 'one'].flatMap((name) => kinds(`bucket-${name}`));
      await Promise.allSettled(commands.map((command) => client.send(command as never, {})));
    }
    const inOrder = ({ sent }: typeof plain) => sent.map((one) => JSON.stringify(one)).sort();
    expect(sorted.sent.length).toBe(24);
    expect(new Set(sorted.sent.map(({ hostname }) => hostname)).size).toBe(3);
    expect(inOrder(sorted)).toEqual(inOrder(plain));
  });

  it('sorts them for the first command of a kind, with those that were added before', async () => {
    const { client, sent } = listening();
    client.middlewareStack.add(
      (next) => (args) => {
        (args.request as Sent).headers['x-added'] = 'yes';
        return next(args);
      },
      { step: 'build', name: 'added' },
    );
    const sort = vi.spyOn(client.middlewareStack, 'concat');
    sortMiddlewareOnce(client);
    for (let round = 0; round < 3; round++)
      await Promise.allSettled(kinds('bucket').map((command) => client.send(command as never)));
    expect(sort).toHaveBeenCalledTimes(kinds('').length);
    expect(sent.map(({ headers }) => headers['x-added'])).toEqual(sent.map(() => 'yes'));
  });
});
