import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * The AWS SDK, loaded by the first store in a bucket. `openStore` is synchronous, so this is no `import()`. A command on a
 * lake in a folder does not load the SDK, which takes longer than its work.
 */
export function sdk(): typeof import('@aws-sdk/client-s3') {
  return require('@aws-sdk/client-s3');
}

/** The SDK's providers of credentials, loaded as the SDK. */
export function providers(): typeof import('@aws-sdk/credential-providers') {
  return require('@aws-sdk/credential-providers');
}
