import { CreateBucketCommand, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';

/** The settings that a client of a local S3 server needs. */
export interface S3Access {
  /** `http://127.0.0.1:PORT`. */
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** The configuration of an `S3Client` for a local server: path style, because bucket host names do not resolve. */
export function s3ClientConfig(access: S3Access): S3ClientConfig & { readonly region: string } {
  const { endpoint, region, accessKeyId, secretAccessKey } = access;
  return { endpoint, region, forcePathStyle: true, credentials: { accessKeyId, secretAccessKey } };
}

/** Creates a bucket if it does not exist. */
export async function ensureBucket(access: S3Access, bucket: string): Promise<void> {
  const client = new S3Client(s3ClientConfig(access));
  try {
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    if (name !== 'BucketAlreadyOwnedByYou' && name !== 'BucketAlreadyExists') throw error;
  } finally {
    client.destroy();
  }
}
