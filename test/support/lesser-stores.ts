import type { S3FaultRule } from './faulty-s3.js';

/** A store, or a proxy in front of it, that lacks something of S3. */
export interface LesserStore {
  readonly lacks: string;
  readonly rules: readonly S3FaultRule[];
  /** Of what `doctor` says about the lake. `null`: nothing is worth a word. */
  readonly doctor: RegExp | null;
  /** Whether runs work. Otherwise `doctor` reports a problem. */
  readonly works: boolean;
  /** Whether a purge works; absent: as runs. */
  readonly purges?: boolean;
  /** Whether `npm test` may run exports with it; absent: only `npm run test:long` does. */
  readonly runsInShort?: true;
}

const refused = (status: number, code: string) => ({ kind: 'status', status, code }) as const;
const NOT_IMPLEMENTED = refused(501, 'NotImplemented');
const DENIED = refused(403, 'AccessDenied');

const CREATE_UPLOAD = { method: 'POST', path: /[?&]uploads/ } as const;
const UPLOAD_PART = { method: 'PUT', path: /partNumber=/ } as const;
const COMPLETE = { method: 'POST', path: /[?&]uploadId=/ } as const;
const LIST = { method: 'GET', path: /list-type=2/ } as const;
const OBJECT = /^\/[^/?]+\/[^?]+(?:\?x-id=\w+)?$/;

/** Changes the first page of a listing into the response to every further page. */
function samePage(): (body: string, path: string) => string {
  const first = new Map<string, string>();
  return (body, path) => {
    const of = path.replace(/[?&]continuation-token=[^&]*/, '');
    if (of === path) first.set(of, body);
    return first.get(of.replace(/^([^?&]*)&/, '$1?')) ?? first.get(of) ?? body;
  };
}

const encodeKeys = (body: string): string =>
  body.replace(
    /<(Key|Prefix)>([^<]*)<\/\1>/g,
    (_, tag, key) => `<${tag}>${encodeURIComponent(key).replaceAll('%2F', '/')}</${tag}>`,
  );

const etag = (change: (value: string) => string | null) => ({
  kind: 'rewrite' as const,
  headers: (name: string, value: string) => (name === 'etag' ? change(value) : value),
});

const withoutChecksums = {
  kind: 'rewrite',
  headers: (name: string, value: string) => (name.startsWith('x-amz-checksum') ? null : value),
} as const;

/** Each store lacks one thing. Runs work, or `doctor` names it before the first run. */
export const LESSER_STORES: readonly LesserStore[] = [
  { lacks: 'nothing', rules: [], doctor: null, works: true },
  {
    lacks: 'multipart uploads',
    rules: [{ ...CREATE_UPLOAD, fault: NOT_IMPLEMENTED }],
    doctor: /write of .*501 NotImplemented: Made up by the test/,
    works: false,
  },
  {
    lacks: 'uploads of parts over 1 MiB, because of a proxy',
    rules: [
      { ...UPLOAD_PART, header: /^content-length: \d{7,}$/m, fault: refused(413, 'RequestEntityTooLarge') },
    ],
    doctor: /413 RequestEntityTooLarge/,
    works: false,
  },
  {
    lacks: 'checksums of uploads (501 to their creation)',
    rules: [{ ...CREATE_UPLOAD, header: /^x-amz-checksum-algorithm:/m, fault: NOT_IMPLEMENTED }],
    doctor: /accepts no checksums .*501 NotImplemented/,
    works: true,
    runsInShort: true,
  },
  {
    lacks: 'FULL_OBJECT checksums (400 to the creation of an upload)',
    rules: [
      {
        ...CREATE_UPLOAD,
        header: /^x-amz-checksum-type: FULL_OBJECT$/m,
        fault: refused(400, 'InvalidArgument'),
      },
    ],
    doctor: /accepts no checksum of a whole object .*400 InvalidArgument/,
    works: true,
  },
  {
    lacks: 'FULL_OBJECT checksums (400 InvalidPart to the completion of an upload)',
    rules: [
      { ...COMPLETE, header: /^x-amz-checksum-type: FULL_OBJECT$/m, fault: refused(400, 'InvalidPart') },
    ],
    doctor: /accepts no checksum of a whole object .*400 InvalidPart/,
    works: true,
  },
  {
    lacks: 'checksums in the completion of an upload',
    rules: [{ ...COMPLETE, body: /<ChecksumCRC32>/, fault: refused(400, 'InvalidPart') }],
    doctor: /accepts no checksums .*400 InvalidPart/,
    works: true,
  },
  {
    lacks: 'checksums of parts',
    rules: [{ ...UPLOAD_PART, header: /^x-amz-(?:sdk-)?checksum-/m, fault: NOT_IMPLEMENTED }],
    doctor: /accepts no checksums .*501 NotImplemented/,
    works: true,
  },
  {
    lacks: 'checksums of uploads (500 to their creation)',
    rules: [
      { ...CREATE_UPLOAD, header: /^x-amz-checksum-algorithm:/m, fault: refused(500, 'InternalError') },
    ],
    doctor: /accepts no checksums .*500 InternalError/,
    works: true,
  },
  {
    lacks: 'FULL_OBJECT checksums (200 with an error in the body)',
    rules: [
      {
        ...COMPLETE,
        header: /^x-amz-checksum-type: FULL_OBJECT$/m,
        fault: {
          kind: 'rewrite',
          body: () =>
            '<?xml version="1.0"?><Error><Code>InvalidPart</Code><Message>Made up by the test</Message></Error>',
        },
      },
    ],
    doctor: /accepts no checksum of a whole object .*InvalidPart/,
    works: true,
    runsInShort: true,
  },
  {
    lacks: 'checksums in its responses',
    rules: [{ fault: withoutChecksums }],
    doctor: null,
    works: true,
  },
  {
    lacks: 'checksums of objects (501 to PutObject)',
    rules: [{ method: 'PUT', header: /^x-amz-checksum-crc32:/m, path: OBJECT, fault: NOT_IMPLEMENTED }],
    doctor: /501 NotImplemented/,
    works: false,
  },
  {
    lacks: 'If-None-Match (501)',
    rules: [{ method: 'PUT', header: /^if-none-match:/m, fault: NOT_IMPLEMENTED }],
    doctor: /rejects conditional writes .*501 NotImplemented/,
    works: false,
  },
  {
    lacks: 'If-Match (400)',
    rules: [{ method: 'PUT', header: /^if-match:/m, fault: refused(400, 'InvalidArgument') }],
    doctor: /rejects conditional writes .*400 InvalidArgument/,
    works: false,
  },
  {
    lacks: 'conditions, which it ignores',
    rules: [{ fault: { kind: 'ignore-conditions' } }],
    doctor: /ignores the conditions of conditional writes/,
    works: false,
  },
  {
    lacks: 'the same ETag for readers',
    rules: [{ method: 'GET', path: OBJECT, fault: etag((value) => value.replace(/"$/, '-gzip"')) }],
    doctor: /changes the ETag/,
    works: false,
  },
  {
    lacks: 'an ETag for readers',
    rules: [{ method: 'GET', path: OBJECT, fault: etag(() => null) }],
    doctor: /changes the ETag/,
    works: false,
  },
  {
    lacks: 'strong ETags, because of a proxy',
    rules: [{ path: OBJECT, fault: etag((value) => `W/${value}`) }],
    doctor: null,
    works: true,
    runsInShort: true,
  },
  {
    lacks: 'CopyObject (501)',
    rules: [{ method: 'PUT', header: /^x-amz-copy-source:/m, fault: NOT_IMPLEMENTED }],
    doctor: /does not copy objects.*501 NotImplemented/,
    works: true,
    runsInShort: true,
  },
  {
    lacks: 'CopyObject (403)',
    rules: [{ method: 'PUT', header: /^x-amz-copy-source:/m, fault: DENIED }],
    doctor: /does not copy objects.*403 AccessDenied/,
    works: true,
  },
  {
    lacks: 'ListObjectsV2',
    rules: [{ ...LIST, fault: NOT_IMPLEMENTED }],
    doctor: /list of .*501 NotImplemented/,
    works: false,
  },
  {
    lacks: 'continuation tokens in its requests: every page is the first',
    rules: [{ ...LIST, fault: { kind: 'rewrite', body: samePage() } }],
    doctor: /same page of the listing again/,
    works: false,
  },
  {
    lacks: 'continuation tokens in its responses',
    rules: [
      {
        ...LIST,
        fault: {
          kind: 'rewrite',
          body: (body) => body.replace(/<NextContinuationToken>.*?<\/NextContinuationToken>/s, ''),
        },
      },
    ],
    doctor: null,
    works: true,
  },
  {
    lacks: 'plain keys in listings: it encodes them, and says so',
    rules: [
      {
        ...LIST,
        fault: {
          kind: 'rewrite',
          body: (body) =>
            encodeKeys(body.replace(/<EncodingType>.*?<\/EncodingType>|<EncodingType\/>/s, '')).replace(
              '</ListBucketResult>',
              '<EncodingType>url</EncodingType></ListBucketResult>',
            ),
        },
      },
    ],
    doctor: null,
    works: true,
    runsInShort: true,
  },
  {
    lacks: 'plain keys in listings: it encodes them',
    rules: [{ ...LIST, fault: { kind: 'rewrite', body: encodeKeys } }],
    doctor: /a listing/,
    works: false,
  },
  {
    lacks: 'folders in listings (delimiter)',
    rules: [
      {
        ...LIST,
        fault: {
          kind: 'rewrite',
          body: (body) => body.replace(/<CommonPrefixes>.*?<\/CommonPrefixes>/gs, ''),
        },
      },
    ],
    doctor: /listing of folders/,
    works: false,
  },
  {
    lacks: 'DeleteObjects (501)',
    rules: [{ method: 'POST', path: /[?&]delete/, fault: NOT_IMPLEMENTED }],
    doctor: /does not remove several objects with one request.*501 NotImplemented/,
    works: true,
    runsInShort: true,
  },
  {
    lacks: 'checksums of DeleteObjects (400 MissingContentMD5)',
    rules: [{ method: 'POST', path: /[?&]delete/, fault: refused(400, 'MissingContentMD5') }],
    doctor: /does not remove several objects with one request.*400 MissingContentMD5/,
    works: true,
  },
  {
    lacks: 'DeleteObject',
    rules: [{ method: 'DELETE', path: OBJECT, fault: NOT_IMPLEMENTED }],
    doctor: null,
    works: true,
  },
  {
    lacks: 'permission to delete',
    rules: [
      { method: 'POST', path: /[?&]delete/, fault: DENIED },
      { method: 'DELETE', path: OBJECT, fault: DENIED },
    ],
    doctor: /refuses to remove objects \(403 AccessDenied: Made up by the test\)/,
    works: true,
    runsInShort: true,
    purges: false,
  },
  {
    lacks: 'reads of ranges, which it ignores',
    rules: [{ method: 'GET', header: /^range:/m, fault: { kind: 'ignore-range' } }],
    doctor: null,
    works: true,
    runsInShort: true,
  },
  {
    lacks: 'reads of ranges (501)',
    rules: [{ method: 'GET', header: /^range:/m, fault: NOT_IMPLEMENTED }],
    doctor: /read of .*501 NotImplemented/,
    works: false,
  },
  {
    lacks: 'HeadObject (405)',
    rules: [{ method: 'HEAD', path: OBJECT, fault: refused(405, 'MethodNotAllowed') }],
    doctor: /405/,
    works: false,
  },
  {
    lacks: 'HeadBucket (403)',
    rules: [{ method: 'HEAD', path: /^\/[^/]+\/?$/, fault: DENIED }],
    doctor: null,
    works: true,
  },
  {
    lacks: 'AbortMultipartUpload',
    rules: [{ method: 'DELETE', path: /uploadId=/, fault: NOT_IMPLEMENTED }],
    doctor: /refuses to list or to end unfinished uploads.*501 NotImplemented/,
    works: true,
  },
  {
    lacks: 'ListMultipartUploads',
    rules: [{ method: 'GET', path: /[?&]uploads/, fault: NOT_IMPLEMENTED }],
    doctor: /refuses to list or to end unfinished uploads.*501 NotImplemented/,
    works: true,
    runsInShort: true,
  },
  {
    lacks: 'ListMultipartUploads (404)',
    rules: [{ method: 'GET', path: /[?&]uploads/, fault: refused(404, 'NoSuchKey') }],
    doctor: /refuses to list or to end unfinished uploads.*404 NoSuchKey/,
    works: true,
  },
];
