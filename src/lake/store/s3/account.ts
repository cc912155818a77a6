import { createRequire } from 'node:module';
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import type { LakeSettings } from '../../../core/settings.js';

const require = createRequire(import.meta.url);

/** Requests that create an object. UploadPart is not among them: AWS rejects its headers for encryption. */
const CREATING: ReadonlySet<string> = new Set([
  'PutObjectCommand',
  'CopyObjectCommand',
  'CreateMultipartUploadCommand',
]);

/** Objects that stay. All others are removed or replaced within hours, and other classes charge for 30 days or more. */
const LASTING = /(?:^|\/)(?:snapshots|changes|table)\//;

type Parameters = Readonly<Record<string, unknown>>;

/**
 * The parameters that a company's bucket can require of a request (https://docs.aws.amazon.com/AmazonS3/latest/API): the
 * expected owner and the payer of every request; encryption, tags and storage class of every new object.
 *
 * @param command name of the SDK's command, such as `PutObjectCommand`
 * @param key key of the object in the bucket; absent: the request is not about one object
 */
export function accountParameters(lake: LakeSettings, command: string, key: string | undefined): Parameters {
  const isCopy = command === 'CopyObjectCommand' || command === 'UploadPartCopyCommand';
  const owner = lake.expectedBucketOwner;
  return {
    ...(lake.requesterPays === true ? { RequestPayer: 'requester' } : {}),
    ...(owner === undefined ? {} : { ExpectedBucketOwner: owner }),
    ...(owner === undefined || !isCopy ? {} : { ExpectedSourceBucketOwner: owner }),
    ...(CREATING.has(command) ? objectParameters(lake, command, key ?? '') : {}),
  };
}

function objectParameters(lake: LakeSettings, command: string, key: string): Parameters {
  const { encryption, storageClass } = lake;
  const tags = Object.entries(lake.tags ?? {});
  return {
    ...(encryption === undefined
      ? {}
      : encryption === 'sse-s3'
        ? { ServerSideEncryption: 'AES256' }
        : { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: encryption.kmsKey }),
    ...(storageClass === undefined || !LASTING.test(key) ? {} : { StorageClass: storageClass }),
    ...(tags.length === 0
      ? {}
      : {
          Tagging: tags.map((pair) => pair.map(encodeURIComponent).join('=')).join('&'),
          // Otherwise a copy has the tags of its source, which may be older than the setting.
          ...(command === 'CopyObjectCommand' ? { TaggingDirective: 'REPLACE' } : {}),
        }),
  };
}

/** Adds the parameters to each request of a client, in the one place that sees all of them. */
export function addAccountParameters(client: S3Client, lake: LakeSettings): void {
  client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        const { Key } = args.input as { Key?: string };
        return next({
          ...args,
          input: { ...args.input, ...accountParameters(lake, commandName ?? '', Key) },
        });
      },
    { step: 'initialize', name: 'worktrackAccount' },
  );
}

/**
 * The identity of a connection: its role, which the base credentials assume, or its profile. Absent: the SDK's default
 * chain. The SDK renews the credentials of a role before they expire.
 */
export function accountCredentials({
  profile,
  role,
  region,
}: LakeSettings): Pick<S3ClientConfig, 'credentials' | 'profile'> {
  if (role === undefined) return profile === undefined ? {} : { profile };
  // Loaded by the first lake with a role only. `openStore` is synchronous, so this is no `import()`.
  const { fromNodeProviderChain, fromTemporaryCredentials } =
    require('@aws-sdk/credential-providers') as typeof import('@aws-sdk/credential-providers');
  return {
    credentials: fromTemporaryCredentials({
      ...(profile === undefined ? {} : { masterCredentials: fromNodeProviderChain({ profile }) }),
      ...(region === undefined ? {} : { clientConfig: { region } }),
      params: {
        RoleArn: role.arn,
        RoleSessionName: 'temporal-worktrack',
        ...(role.externalId === undefined ? {} : { ExternalId: role.externalId }),
      },
    }),
  };
}
