import type { ListObjectsV2CommandOutput } from '@aws-sdk/client-s3';
import { checkFolder, checkPrefix } from '../key.js';
import type { ListedObject } from '../port.js';
import type { S3Connection } from './connection.js';
import { sdk } from './sdk.js';

/** Lists every object below a prefix. S3 lists in byte order of the keys. */
export async function* listObjects(
  s3: S3Connection,
  prefix: string,
): AsyncGenerator<ListedObject, void, undefined> {
  checkPrefix(prefix);
  for await (const page of listPages(s3, 'list', prefix, {})) {
    for (const entry of page.Contents ?? []) {
      const key = s3.relative(entry.Key ?? '');
      if (key === null) continue;
      yield { key, bytes: entry.Size ?? 0, modifiedAt: entry.LastModified?.getTime() ?? 0 };
    }
  }
}

/** Names of the folders directly below `prefix`. */
export async function listFolders(s3: S3Connection, prefix: string): Promise<string[]> {
  checkFolder(prefix);
  const cut = s3.prefixOf(prefix).length;
  const names: string[] = [];
  for await (const page of listPages(s3, 'listFolders', prefix, { Delimiter: '/' })) {
    for (const folder of page.CommonPrefixes ?? []) {
      const name = (folder.Prefix ?? '').slice(cut, -1);
      if (name !== '') names.push(name);
    }
  }
  return names;
}

async function* listPages(
  s3: S3Connection,
  operation: string,
  prefix: string,
  options: { Delimiter?: string },
): AsyncGenerator<ListObjectsV2CommandOutput, void, undefined> {
  let token: string | undefined;
  do {
    const page: ListObjectsV2CommandOutput = await s3.run(operation, prefix, undefined, () =>
      s3.client.send(
        new (sdk().ListObjectsV2Command)({
          Bucket: s3.bucket,
          Prefix: s3.prefixOf(prefix),
          ...options,
          ...(token === undefined ? {} : { ContinuationToken: token }),
        }),
      ),
    );
    yield page;
    token = page.IsTruncated ? page.NextContinuationToken : undefined;
  } while (token !== undefined);
}
