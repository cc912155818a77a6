import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { BodyError } from '../../../src/api/body.js';
import { BodyTooLargeError } from '../../../src/api/errors.js';
import {
  BrokenPromiseError,
  NotFoundError,
  RefusedError,
  RejectedError,
  TransientError,
} from '../../../src/api/index.js';
import { UnsendableError } from '../../../src/api/url.js';
import { DetachedError, failureOf, UsageError } from '../../../src/cli/shared/choose-exit-code.js';
import { SettingsError } from '../../../src/config/index.js';
import type { ObjectKey } from '../../../src/core/brands.js';
import { NO_DIFFERENCES, noRows, type WriteBackResult } from '../../../src/core/contract/write-back.js';
import {
  ConfigurationError,
  ERROR_CODES,
  errorMessage,
  InvalidArgumentError,
  WorktrackError,
} from '../../../src/core/errors.js';
import { EXIT } from '../../../src/core/exit-code.js';
import { InputError } from '../../../src/core/input-error.js';
import { OutOfReachError } from '../../../src/core/reachability.js';
import { SystemError } from '../../../src/core/system-error.js';
import { DamagedError } from '../../../src/lake/damaged-error.js';
import { LakeLayoutError } from '../../../src/lake/documents/lake-layout.js';
import { SnapshotNotFoundError } from '../../../src/lake/published/read-published.js';
import { TooManyColumnsError } from '../../../src/lake/rows/data-columns.js';
import {
  ObjectNotFoundError,
  StoreError,
  type StoreErrorKind,
  StoreUnclearError,
} from '../../../src/lake/store/index.js';
import { DocumentTooLargeError } from '../../../src/lake/too-large-error.js';
import { ServerEnvironmentError, ServerInstallError, ServerStartError } from '../../../src/servers/errors.js';
import { QueryError } from '../../../src/sql/query/errors.js';
import { RunFailedError, WriteBackFailedError } from '../../../src/temporal/follow/require-published.js';

const ROOT = resolve(import.meta.dirname, '../../..');
const tooLarge = { key: 'tasks/latest.json' as ObjectKey, what: 'latest.json', maxBytes: 1, bytes: 2 };
const target = { operation: 'read', key: 'tasks/latest.json', bucket: 's3://lake' };
const store = (kind: StoreErrorKind): StoreError =>
  new StoreError({ ...target, kind, problem: 'it failed', remedy: 'Do this.' });

const BATCH: WriteBackResult = {
  ...{ batchId: 'november', outcome: 'incomplete', counts: { ...noRows(), rejected: 1 }, results: null },
  ...{ rows: 1, unsent: 0, refusals: null, ...NO_DIFFERENCES, warnings: [], error: null },
};

/** One error of each class, with its code and exit code. */
const ERRORS: readonly (readonly [WorktrackError, string, number])[] = [
  [new ConfigurationError('wrong'), 'CONFIGURATION', 2],
  [new SettingsError('worktrack.yaml', []), 'CONFIGURATION', 2],
  [new InputError('wrong', { line: 2 }), 'CONFIGURATION', 2],
  [new TooManyColumnsError(), 'CONFIGURATION', 2],
  [new InvalidArgumentError('since', 'is not a time'), 'INVALID_ARGUMENT', 2],
  [new UsageError('wrong'), 'USAGE', 2],
  [new QueryError('wrong'), 'QUERY', 2],
  [new DetachedError('left'), 'DETACHED', 130],
  [new OutOfReachError('gone'), 'OUT_OF_REACH', 4],
  [new RunFailedError('failed', { outcome: 'failed', runs: [] }), 'RUN_FAILED', 1],
  [new RunFailedError('refused', { outcome: 'refused', runs: [] }), 'RUN_REFUSED', 3],
  [new RunFailedError('cancelled', { outcome: 'cancelled', runs: [] }), 'RUN_CANCELLED', 1],
  [new WriteBackFailedError('incomplete', BATCH), 'WRITE_BACK_INCOMPLETE', 1],
  [new RefusedError('no', { scope: 'key' }), 'SERVICE_REFUSED', 3],
  [new TransientError('later', { reason: 'status' }), 'SERVICE_TRANSIENT', 1],
  [new BodyError('truncated', 'short'), 'SERVICE_TRANSIENT', 1],
  [new BodyError('too-large', 'long'), 'SERVICE_BODY_TOO_LARGE', 1],
  [new BodyTooLargeError('long'), 'SERVICE_BODY_TOO_LARGE', 1],
  [new BrokenPromiseError('odd'), 'SERVICE_BROKEN_PROMISE', 1],
  [new NotFoundError('none'), 'SERVICE_NOT_FOUND', 1],
  [new RejectedError('no'), 'SERVICE_REJECTED', 1],
  [new UnsendableError('no'), 'SERVICE_REJECTED', 1],
  [store('access-denied'), 'STORE_ACCESS_DENIED', 2],
  [store('missing-bucket'), 'STORE_MISSING_BUCKET', 2],
  [store('bad-credentials'), 'STORE_BAD_CREDENTIALS', 2],
  [store('expired-credentials'), 'STORE_EXPIRED_CREDENTIALS', 2],
  [store('clock-skew'), 'STORE_CLOCK_SKEW', 2],
  [store('invalid-key'), 'STORE_INVALID_KEY', 2],
  [store('unreachable'), 'STORE_UNREACHABLE', 1],
  [store('throttled'), 'STORE_THROTTLED', 1],
  [store('full'), 'STORE_FULL', 1],
  [store('archived'), 'STORE_ARCHIVED', 1],
  [store('wrong-region'), 'STORE_OTHER', 1],
  [store('checksum'), 'STORE_CHECKSUM', 1],
  [store('upload-gone'), 'STORE_UPLOAD_GONE', 1],
  [store('damaged'), 'STORE_DAMAGED', 1],
  [store('other'), 'STORE_OTHER', 1],
  [new StoreUnclearError({ ...target, problem: 'unknown' }), 'STORE_UNCLEAR', 1],
  [new ObjectNotFoundError(target), 'STORE_NOT_FOUND', 1],
  [new LakeLayoutError('layout 1'), 'LAKE_LAYOUT', 2],
  [new DamagedError('damaged'), 'LAKE_DAMAGED', 1],
  [new DocumentTooLargeError('read', tooLarge), 'LAKE_TOO_LARGE', 1],
  [new DocumentTooLargeError('write', tooLarge), 'LAKE_WRITE_TOO_LARGE', 1],
  [
    new SnapshotNotFoundError('none', { resource: 'tasks', dates: [], remedy: 'Run an export.' }),
    'SNAPSHOT_NOT_FOUND',
    2,
  ],
  [new SystemError('cannot open /x: the disk is full.'), 'SYSTEM', 1],
  [new ServerEnvironmentError('NAME', '/none', 'no such file'), 'SERVER_ENVIRONMENT', 2],
  [
    new ServerInstallError({ title: 'a server', version: '1' } as never, [], ['Install it.']),
    'SERVER_INSTALL',
    1,
  ],
  [new ServerStartError('a server', 'it ended', '/log', ''), 'SERVER_START', 1],
];

/** The rows of the table of codes: code, exit code and failure type. */
function documentedCodes(page: string): [string, number, string | null][] {
  const rows = page.matchAll(/^\| (\d+), (?:none|`(\w+)`) \| (.+) \|$/gm);
  return [...rows].flatMap(([, exitCode, type, codes]) =>
    [...codes!.matchAll(/`([A-Z_]{5,})`/g)].map(([, code]): [string, number, string | null] => [
      code!,
      Number(exitCode),
      type ?? null,
    ]),
  );
}

describe('the errors', () => {
  it.each(ERRORS)('%s has a code, and a command ends with its exit code', (error, code, exitCode) => {
    expect(error).toBeInstanceOf(WorktrackError);
    expect(error).toMatchObject({ code, exitCode });
    expect(failureOf(error, {}).code).toBe(exitCode);
  });

  it('use every code', () => {
    expect(new Set(ERRORS.map(([{ code }]) => code))).toEqual(new Set(Object.keys(ERROR_CODES)));
  });

  it('have the codes and exit codes that the reference documents', () => {
    const page = readFileSync(join(ROOT, 'docs/reference/exit-codes.md'), 'utf8');
    const codes = Object.entries(ERROR_CODES).map(([code, of]) => [code, of.exitCode, of.failureType]);
    expect(documentedCodes(page).sort()).toEqual(codes.sort());
    const [general = ''] = page.split('\n## ');
    const exitCodes = [...general.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
    expect(exitCodes).toEqual(Object.values(EXIT));
  });

  it('all have the same base; the simulator shares no code with the connector', () => {
    const sources = ['src', 'activities', 'workflows'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => join(folder, name)),
    );
    expect(sources.length).toBeGreaterThan(300);
    const found = sources.filter((name) =>
      /class \w+ extends \w*(?<!Worktrack|Configuration|Service|BrokenPromise|Store)Error\b/.test(
        readFileSync(join(ROOT, name), 'utf8'),
      ),
    );
    // The errors of JSON text are SyntaxErrors, as those of JSON.parse. The callers give them a place, and a sentence to those
    // that the process of DuckDB answers.
    expect(found.sort()).toEqual([
      'src/core/errors.ts',
      'src/json/json-error.ts',
      'src/simulator/http/reply.ts',
      'src/table/parquet/engine-failure.ts',
    ]);
  });

  it('show their name once, in the stack trace', () => {
    const error = new ConfigurationError('The key is wrong.', { remedy: 'Correct it.' });
    expect(error.stack).toMatch(/^ConfigurationError: The key is wrong\.\n/);
    expect(inspect(error).match(/ConfigurationError:/g)).toHaveLength(1);
    expect(inspect(error)).not.toContain('name:');
  });

  it('say what happened and what to do next, each once', () => {
    expect(new ConfigurationError('Wrong.', { remedy: 'Do this.' }).describe()).toBe('Wrong. Do this.');
    expect(new ConfigurationError('Wrong.').describe()).toBe('Wrong.');
    expect(
      store('other')
        .describe()
        .match(/Do this\./g),
    ).toHaveLength(1);
  });

  it('keep their cause', () => {
    const cause = new Error('why');
    expect(new ConfigurationError('Wrong.', { cause }).cause).toBe(cause);
    expect(new ConfigurationError('Wrong.')).not.toHaveProperty('cause');
  });
});

describe('the message of anything that can be thrown', () => {
  it('is the message of an error, and otherwise its text', () => {
    expect([new Error('a'), 'b', undefined].map(errorMessage)).toEqual(['a', 'b', 'undefined']);
  });
});
