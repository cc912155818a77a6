import { z } from 'zod';
import type { ObjectKey } from '../core/brands.js';
import type { UnreadDocument } from '../core/contract/index.js';
import { WorktrackError } from '../core/errors.js';
import { parseStored } from '../core/stored-json.js';
import { VERSION } from '../core/version.js';
import type { RunFile } from '../lake/documents/run-file.js';
import type { Stage } from '../lake/documents/stage-file.js';

/**
 * The layout of the documents that a run stages in the lake. A run may continue on a worker of another build, so a build reads
 * its own layout and the one before. A change that a build with this number could not read raises it; the schemas
 * then accept both forms.
 */
export const JOURNAL_LAYOUT = 1;

const READABLE = [JOURNAL_LAYOUT - 1, JOURNAL_LAYOUT];

/** A kind of staged document, with the schema that each one matches that is read from the lake. */
export interface DocumentKind<T> {
  readonly name: string;
  readonly schema: z.ZodType<T>;
}

/** A schema for each field that a document always has. What a build writes matches its own types, so the schemas are not deep. */
export type FieldsOf<T> = {
  readonly [Name in keyof T as undefined extends T[Name] ? never : Name]: z.ZodType;
} & { readonly [Name in keyof T]?: z.ZodType };

/** Declares the kind of a document that is an object. */
export function documentKind<T>(name: string, fields: FieldsOf<T>): DocumentKind<T> {
  return { name, schema: z.looseObject(fields as z.ZodRawShape) as unknown as z.ZodType<T> };
}

/** A document that this build cannot read: it has another layout, or is not what it should be. Another worker may read it. */
export class UnreadDocumentError extends WorktrackError {
  readonly code = 'LAKE_LAYOUT';

  constructor(
    readonly unread: UnreadDocument,
    problem: string,
  ) {
    super(`${unread.object} ${problem}, so this worker cannot continue the run.`, {
      remedy:
        'Give all workers of the connection the same version. The run waits up to 10 minutes for a worker that reads it, and then ' +
        'begins again.',
    });
  }

  override get retryable(): boolean {
    return true;
  }
}

/** `build`: the version of the package that wrote the document. */
const ENVELOPE = z.object({ layout: z.int(), build: z.string(), kind: z.string(), document: z.unknown() });

/** Encodes a document with its layout, its build and its kind. */
export function encodeDocument<T>({ name }: DocumentKind<T>, document: T): Buffer {
  return Buffer.from(JSON.stringify({ layout: JOURNAL_LAYOUT, build: VERSION, kind: name, document }));
}

/**
 * @param object the key, for the error. The error has no value of the document
 * @throws UnreadDocumentError
 */
export function decodeDocument<T>({ name, schema }: DocumentKind<T>, body: Buffer, object: ObjectKey): T {
  const { layout, build, kind, document } = envelopeIn(body, object);
  if (!READABLE.includes(layout)) {
    const reads = `this build (${VERSION}) reads layouts ${READABLE.join(' and ')}`;
    const written = `has layout ${layout} of a run, written by worktrack ${build}`;
    throw new UnreadDocumentError({ object, layout }, `${written}, and ${reads}`);
  }
  const found = kind === name ? schema.safeParse(document) : null;
  if (found?.success === true) return document as T;
  const path = found?.error.issues[0]?.path.join('.');
  const problem = path ? `is not complete or not valid at "${path}"` : `is no document of the kind "${name}"`;
  throw new UnreadDocumentError({ object, layout: null }, `(layout ${layout}) ${problem}`);
}

function envelopeIn(body: Buffer, object: ObjectKey): z.infer<typeof ENVELOPE> {
  try {
    const { success, data } = ENVELOPE.safeParse(parseStored(body));
    if (success) return data;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new UnreadDocumentError({ object, layout: null }, 'is no document with a layout number');
}

const text = z.string();
const count = z.int().min(0);
const flag = z.boolean();
const time = z.number();
const object = z.looseObject({});
const list = z.array(object);
const column = z.looseObject({ name: text, types: count });
const part = z.looseObject({ key: text, rows: count, bytes: count, rawBytes: count, sha256: text });
const profile = z.looseObject({ key: z.array(text), csv: object, columns: object });
const snapshot = z.looseObject({
  ...{ runId: text, fingerprint: text, columns: z.array(column), parts: z.array(part) },
  ...{ list: object, shapes: list, checkpoint: text, readUpTo: object, profile },
});

/** The settings of a run, in its journal. */
export const RUN = z.looseObject({
  ...{ connection: text, runId: text, startedAt: time, nominalStart: time, baseUrl: text },
  writer: z.looseObject({ workflow: text, namespace: text }),
  ...{ sync: z.looseObject({ pageSize: count }), http: object, retention: object, tables: object.nullable() },
  onPublished: z.union([text, object]).nullable(),
  resource: z.looseObject({ name: text, path: text, key: z.array(text), csv: object, columns: object }),
  mode: z.enum(['full', 'increment', 'rollback']),
  ...{ updatedSince: text.nullable(), checkpoint: text.nullable(), readSince: time },
  before: z
    .looseObject({ ...snapshot.shape, etag: text, manifest: text, publishedAt: time, rows: count })
    .nullable(),
  ...{ warnings: z.array(z.union([text, z.looseObject({ kind: text })])), giveUpAfterMs: time },
  ...{ allowDeletes: flag, pageSize: count },
  ...{ shapes: list, settingsChange: object.nullable(), earlierList: text.nullable(), reconcile: flag },
  columns: z.array(column),
  resumed: z.looseObject({ runId: text, stage: text, done: flag, pages: count, rows: count }).nullable(),
  ...{ leftBehind: z.array(text), rollback: snapshot.nullable() },
} satisfies FieldsOf<RunFile>);

/** A sorted sequence of staged rows, as documents name it. */
export const CHUNK = z.looseObject({
  ...{ key: text, rows: count, bytes: count, rawBytes: count },
  ...{ first: text, last: text, columns: count, indexCrc32: text },
} satisfies FieldsOf<Stage['chunks'][number]>);

/** The position of a reading. */
export const STAGE = documentKind<Stage>('stage', {
  ...{ previous: text.nullable(), chunks: z.array(CHUNK), cursor: text.nullable(), done: flag },
  ...{ seen: z.array(text), read: count, kind: z.enum(['list', 'catch-up']), updatedSince: text.nullable() },
  ...{ readPages: count, readStart: time.nullable(), readBegan: time.nullable(), upTo: object.nullable() },
  ...{ restarts: count, shrinks: count, progress: object.nullable(), fullRead: object.nullable() },
  ...{ shifted: flag, marks: list, isChecked: flag, chain: count, pages: count, fetched: count },
  ...{ duplicates: count, quarantined: count, thin: z.looseObject({ records: count }), ignored: count },
  ...{ replaced: count, repaired: count, announced: text.nullable(), isBlank: flag, evidence: object },
  ...{
    doubts: z.array(z.looseObject({ kind: text })),
    serviceStart: time.nullable(),
    began: time.nullable(),
  },
  ...{ pageSize: count, columns: z.array(column) },
});

/** Keys of records. */
export const SORT_KEYS = z.array(text);
