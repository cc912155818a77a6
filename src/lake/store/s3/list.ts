import type { ListObjectsV2CommandOutput } from '@aws-sdk/client-s3';
import { checkFolder, checkPrefix } from '../key.js';
import type { ListedObject, ListOptions } from '../port.js';
import type { S3Connection } from './connection.js';
import { sdk } from './sdk.js';

/** Lists every object below a prefix. S3 lists in byte order of the keys. */
export async function* listObjects(
  s3: S3Connection,
  prefix: string,
  { pageSize }: ListOptions = {},
): AsyncGenerator<ListedObject, void, undefined> {
  checkPrefix(prefix);
  for await (const page of listPages(s3, 'list', prefix, { MaxKeys: pageSize })) {
    for (const entry of page.Contents ?? []) {
      const key = s3.relative(decoded(entry.Key, page));
      // A store that ignores the prefix lists other objects too, and callers remove what is listed.
      if (key === null || !key.startsWith(prefix)) continue;
      yield { key, bytes: entry.Size ?? 0, modifiedAt: entry.LastModified?.getTime() ?? 0 };
    }
  }
}

/** Names of the folders directly below `prefix`. */
export async function listFolders(s3: S3Connection, prefix: string): Promise<string[]> {
  checkFolder(prefix);
  const full = s3.prefixOf(prefix);
  const names: string[] = [];
  for await (const page of listPages(s3, 'listFolders', prefix, { Delimiter: '/' })) {
    for (const folder of page.CommonPrefixes ?? []) {
      const found = decoded(folder.Prefix, page);
      const name = found.startsWith(full) ? found.slice(full.length, -1) : '';
      if (name !== '') names.push(name);
    }
  }
  return names;
}

/** A key of a listing. Some stores encode it without being asked to, and say so. */
function decoded(key: string | undefined, { EncodingType }: ListObjectsV2CommandOutput): string {
  if (key === undefined || EncodingType !== 'url') return key ?? '';
  try {
    return decodeURIComponent(key.replaceAll('+', '%20'));
  } catch {
    return key;
  }
}

async function* listPages(
  s3: S3Connection,
  operation: string,
  prefix: string,
  options: { Delimiter?: string; MaxKeys?: number | undefined },
): AsyncGenerator<ListObjectsV2CommandOutput, void, undefined> {
  let from: { ContinuationToken?: string; StartAfter?: string } | null = {};
  while (from !== null) {
    const position: typeof from = from;
    const page: ListObjectsV2CommandOutput = await s3.run(operation, prefix, undefined, () =>
      s3.client.send(
        new (sdk().ListObjectsV2Command)({
          Bucket: s3.bucket,
          Prefix: s3.prefixOf(prefix),
          ...options,
          ...position,
        }),
      ),
    );
    yield page;
    from = page.IsTruncated ? nextPosition(page) : null;
    if (from !== null && JSON.stringify(from) === JSON.stringify(position))
      throw s3.failure(operation, prefix, {
        problem: 'the store returns the same page of the listing again, instead of the next one',
        remedy: 'Use a store, or a proxy, that supports ListObjectsV2 with continuation tokens.',
      });
  }
}

/** Where the next page begins: at the token, or after the last entry if the store gives none. */
function nextPosition(
  page: ListObjectsV2CommandOutput,
): { ContinuationToken: string } | { StartAfter: string } {
  if (page.NextContinuationToken) return { ContinuationToken: page.NextContinuationToken };
  const keys = [
    ...(page.Contents ?? []).map(({ Key }) => decoded(Key, page)),
    // After a common prefix, the next key is one without it.
    ...(page.CommonPrefixes ?? []).map(({ Prefix }) => `${decoded(Prefix, page)}\u{10ffff}`),
  ];
  return { StartAfter: keys.reduce((last, key) => (key > last ? key : last), '') };
}
