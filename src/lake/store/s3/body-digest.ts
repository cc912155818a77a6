import type { S3Client } from '@aws-sdk/client-s3';

/** By the body of a request that is being sent. */
const known = new WeakMap<Uint8Array, string>();

/** Signs the next request with this body with its SHA-256, which the SDK would otherwise compute again. */
export function noteDigest(body: Uint8Array, sha256: string): void {
  known.set(body, sha256);
}

export function signWithKnownDigests(client: S3Client): void {
  client.middlewareStack.add(
    (next) => (args) => {
      const { Body: body } = args.input as { readonly Body?: unknown };
      const sha256 = body instanceof Uint8Array ? known.get(body) : undefined;
      const { headers } = args.request as { readonly headers: Record<string, string> };
      if (sha256 !== undefined) headers['x-amz-content-sha256'] = sha256;
      return next(args);
    },
    { step: 'build', name: 'worktrackBody' },
  );
}
