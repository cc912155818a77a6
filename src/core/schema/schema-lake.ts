import { z } from 'zod';
import { choice, flag, formed, issueAt, parsedValue, section } from './building-blocks.js';
import { invalidValue } from './values.js';

/** Storage classes of S3 whose objects can be read immediately. */
const STORAGE_CLASSES = [
  'STANDARD',
  'STANDARD_IA',
  'ONEZONE_IA',
  'INTELLIGENT_TIERING',
  'GLACIER_IR',
] as const;
const KMS_KEY = 'the ARN, id or alias of a KMS key, such as alias/worktrack';
const ENCRYPTION = `sse-s3, or { kmsKey: … } with ${KMS_KEY}`;
/** https://docs.aws.amazon.com/kms/latest/developerguide/concepts.html#key-id */
const KMS_KEY_FORM =
  /^(?:arn:aws[\w-]*:kms:[\w-]+:\d{12}:(?:key|alias)\/[\w/-]+|(?:mrk-)?[0-9a-fA-F-]{32,36}|alias\/[\w/-]+)$/;
/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/tagging-managing.html */
const TAG_TEXT = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u;
const MAX_TAGS = 10;
const MAX_TAG_NAME = 128;
const MAX_TAG_VALUE = 256;

const encryption = parsedValue(
  (value): 'sse-s3' | { kmsKey: string } => {
    if (value === 'sse-s3') return value;
    const found =
      typeof value === 'object' && value !== null && Object.keys(value).join() === 'kmsKey'
        ? (value as { kmsKey: unknown }).kmsKey
        : undefined;
    if (typeof found === 'string' && KMS_KEY_FORM.test(found)) return { kmsKey: found };
    throw new RangeError(invalidValue(found ?? value, found === undefined ? ENCRYPTION : KMS_KEY));
  },
  {
    title: '`sse-s3`, or a map with `kmsKey`',
    oneOf: [
      { const: 'sse-s3' },
      {
        type: 'object',
        properties: { kmsKey: { type: 'string' } },
        required: ['kmsKey'],
        additionalProperties: false,
      },
    ],
  },
);

const tags = z
  .record(z.string(), z.string({ error: ({ input }) => invalidValue(input, 'a text in quotes') }), {
    error: ({ input }) => invalidValue(input, 'a map from tag names to values such as { team: data }'),
  })
  .superRefine((found, context) => {
    const entries = Object.entries(found);
    if (entries.length > MAX_TAGS)
      context.addIssue(issueAt(`found ${entries.length} tags; allowed: at most ${MAX_TAGS}`));
    for (const [name, value] of entries) {
      const isValid =
        name !== '' &&
        !name.startsWith('aws:') &&
        name.length <= MAX_TAG_NAME &&
        value.length <= MAX_TAG_VALUE &&
        TAG_TEXT.test(name) &&
        TAG_TEXT.test(value);
      if (isValid) continue;
      const message =
        `is not a tag of S3; allowed: a name of 1 to ${MAX_TAG_NAME} characters that does not begin with aws:, and a value of ` +
        `at most ${MAX_TAG_VALUE}, each of letters, digits, spaces and _ . : / = + - @`;
      context.addIssue(issueAt(message, name));
    }
  });

/** Permissions of a folder, which its owner can use in any case. */
const FOLDER_MODE = /^0?7[0-7]{2}$/;

/** `mode` of a lake in a folder. YAML reads 0750 as a number, whose decimal digits are those of the mode. */
export const folderMode = z
  .union([z.string(), z.number()], { error: ({ input }) => invalidValue(input, 'a mode such as "0750"') })
  .meta({ title: 'octal mode' })
  .transform((value, context) => {
    const text = String(value);
    if (FOLDER_MODE.test(text)) return Number.parseInt(text, 8);
    context.addIssue(issueAt(invalidValue(value, 'an octal mode from 0700 to 0777, such as "0750"')));
    return z.NEVER;
  });

/** Keys of `lake` for the AWS accounts of companies (docs/how-to/s3.md#3-provide-credentials). */
export const awsAccount = section({
  encryption: encryption.describe(
    'Encryption of new objects: `sse-s3`, or `{ kmsKey: … }` with the ARN, id or alias of a KMS key. Default: that of the bucket.',
  ),
  role: section({
    arn: formed(
      'the ARN of a role such as arn:aws:iam::111122223333:role/worktrack',
      /^arn:aws[\w-]*:iam::\d{12}:role\/[\w+=,.@/-]+$/,
    ).describe('ARN of the role.'),
    externalId: formed('2 to 1,224 letters, digits and _ + = , . @ : / -', /^[\w+=,.@:/-]{2,1224}$/)
      .optional()
      .describe('External id that the trust policy of the role requires.'),
  }).describe('Role that the credentials of this connection assume. They are renewed before they expire.'),
  profile: formed('the name of a profile in the AWS configuration', /^[^\s\p{Cc}]{1,128}$/u).describe(
    'Profile of the AWS configuration files. Default: as for the AWS SDK.',
  ),
  tags: tags.describe('At most ten tags of each new object. They need `s3:PutObjectTagging`.'),
  storageClass: choice(STORAGE_CLASSES).describe('Storage class of snapshots, change logs and tables.'),
  acl: choice(['bucket-owner-full-control']).describe(
    'ACL of new objects, for a bucket of another account that requires it.',
  ),
  requesterPays: flag().describe('Pay for requests to a bucket of another account.'),
  expectedBucketOwner: formed('an account id of 12 digits in quotes', /^\d{12}$/).describe(
    'Account id of the owner of the bucket. S3 rejects requests to a bucket of another account.',
  ),
}).partial();
