import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * The AWS SDK, loaded by the first store in a bucket. `openStore` is synchronous, so this is no `import()`. A command on a
 * lake in a folder does not load the SDK, which takes longer than its work.
 */
export function sdk(): typeof import('@aws-sdk/client-s3') {
  return require('@aws-sdk/client-s3');
}
