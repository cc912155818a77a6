import { inject } from 'vitest';
import type { S3Access } from '../../src/servers/index.js';

/** Access to the S3 server that all tests share. */
export function sharedS3(): S3Access {
  const servers = inject('servers');
  return {
    endpoint: servers.s3Endpoint,
    region: servers.s3Region,
    accessKeyId: servers.s3AccessKeyId,
    secretAccessKey: servers.s3SecretAccessKey,
  };
}
