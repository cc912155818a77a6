import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Millis, ObjectKey } from '../core/brands.js';
import { MINUTE_MS } from '../core/duration.js';
import { errorMessage } from '../core/errors.js';
import { EXIT } from '../core/exit-code.js';
import { OutOfReachError, withTimeout } from '../core/reachability.js';
import type { ConnectionSettings } from '../core/settings.js';
import { LakeLayoutError } from '../lake/documents/lake-layout.js';
import { checkLayoutOf } from '../lake/documents/pointer.js';
import {
  conditionProblem,
  ObjectNotFoundError,
  type ObjectStore,
  openStore,
  PROBES,
  probeConditionalWrites,
  raceConditionalWrites,
  StoreError,
  type StoreErrorKind,
  toObjectKey,
} from '../lake/store/index.js';
import { clockFinding } from './check-clock.js';
import { about, type Finding, ok, problem, warning } from './finding.js';

/** After these errors, further requests fail the same way. */
const FATAL: readonly StoreErrorKind[] = [
  ...(['missing-bucket', 'wrong-region', 'bad-credentials', 'expired-credentials'] as const),
  ...(['unreachable', 'clock-skew', 'full'] as const),
];

interface Step {
  readonly what: string;
  /** The least time limit. */
  readonly least?: Millis;
  /** Runs the step and returns a finding other than its success. */
  run(): Promise<Finding | null>;
}

/** A large upload takes longer than other steps. */
const UPLOAD_TIMEOUT_MS = MINUTE_MS;

/**
 * Performs the operations of a run on probe objects under `_staging/`: write, read, list, copy, upload in parts, conditional
 * write, delete. Leaves nothing behind, unless the store refuses to remove it.
 *
 * @param timeoutMs time limit of one step
 */
export async function checkLake(
  { lake, resources }: ConnectionSettings,
  timeoutMs: number,
): Promise<Finding[]> {
  const missing: string[] = [];
  let store: ObjectStore;
  try {
    // What the store does not do, and a run does in another way.
    store = openStore(lake, { logger: { warn: (message) => void missing.push(message) } });
  } catch (error) {
    return [failed('use', error)];
  }
  const findings: Finding[] = [];
  const passed: string[] = [];
  const failures = new Failures();
  try {
    const layout = await withTimeout(layoutProblem(store, resources), timeoutMs).catch(() => null);
    // Nothing is written to such a lake.
    if (layout !== null) return [layout];
    for (const { what, run, least = 0 } of stepsOf(store)) {
      try {
        const found = await withTimeout(run(), Math.max(timeoutMs, least));
        if (found !== null) findings.push(about(found.check === 'clock' ? 'lake' : what, found));
        passed.push(what);
      } catch (error) {
        failures.add(what, error);
        if (isFatal(error)) break;
      }
    }
  } finally {
    store.close();
  }
  findings.push(...failures.findings());
  findings.push(...(await folderReaders(lake.url)));
  const remedy = 'Runs work, with more requests or bytes than with AWS S3.';
  findings.push(...missing.map((message) => about('features', warning('lake', message, remedy))));
  return passed.length === 0 ? findings : [ok('lake', `${lake.url}: ${passed.join(', ')}`), ...findings];
}

/** Who else on this machine can read a lake in a folder. */
async function folderReaders(url: string): Promise<Finding[]> {
  if (!url.startsWith('file:') || process.platform === 'win32') return [];
  const found = await stat(fileURLToPath(url)).catch(() => null);
  if (found === null) return [];
  const mode = `its mode is ${(found.mode & 0o777).toString(8).padStart(4, '0')}`;
  // Without the right to enter the folder, nothing in it can be read.
  if ((found.mode & 0o001) !== 0)
    return [
      about(
        'readers',
        warning(
          'lake',
          `every user of this machine can read the folder (${mode})`,
          'Run chmod o-rwx on it, unless they should.',
        ),
      ),
    ];
  const readers = (found.mode & 0o010) === 0 ? 'only its owner can' : 'its owner and its group can';
  return [about('readers', ok('lake', `${readers} read the folder (${mode})`))];
}

/** A pointer that this version does not read because of its layout; `null` for none. The steps find all other problems. */
async function layoutProblem(
  store: ObjectStore,
  resources: ConnectionSettings['resources'],
): Promise<Finding | null> {
  for (const { name } of resources) {
    try {
      await checkLayoutOf(store, name);
    } catch (error) {
      if (error instanceof LakeLayoutError)
        return problem('lake', 'configuration', error.message, error.remedy ?? '');
    }
  }
  return null;
}

function stepsOf(store: ObjectStore): Step[] {
  // The keys have the form of those of a run: some stores and proxies change `=` or `%` in keys or listings. More than one,
  // so that a listing has several pages. Objects below `snapshots` have the storage class of published ones.
  const folder = `${PROBES}doctor-${randomBytes(8).toString('hex')}/snapshots/dt=2026-11-21/`;
  const keys = [1, 2, 3].map((n) => toObjectKey(`${folder}run=${n}/part-00000.csv`));
  const [key, ...others] = keys as [ObjectKey, ...ObjectKey[]];
  const body = Buffer.from('{"probe":"doctor"}');
  let written: { at: number } | null = null;
  return [
    {
      what: 'write',
      async run() {
        const began = Date.now();
        await store.write(key, body);
        written = { at: (began + Date.now()) / 2 };
        for (const other of others) await store.write(other, body);
        return null;
      },
    },
    {
      what: 'read',
      async run() {
        if (written === null) return null;
        const found = await store.read(key);
        const some = await store.read(key, { range: { offset: 2, length: 5 } });
        if (!found.equals(body))
          return inconsistent(`read ${found.length} bytes that differ from the ${body.length} bytes written`);
        return some.equals(body.subarray(2, 7))
          ? null
          : wrong('a read of a range of bytes returns other bytes');
      },
    },
    {
      what: 'list',
      async run() {
        const found: string[] = [];
        for await (const listed of store.list(folder, { pageSize: 1 })) found.push(listed.key);
        if (written === null) return null;
        const names = await store.listFolders(folder);
        if (found.length === 0)
          return inconsistent('a listing does not show an object that was just written');
        if (keys.some((one) => !found.includes(one)) || found.length !== keys.length)
          return wrong(
            `a listing in pages shows ${found.length} objects with other keys than the ${keys.length} written`,
          );
        return names.sort().join() === 'run=1,run=2,run=3'
          ? null
          : wrong(`a listing of folders (delimiter=/) shows ${names.length} folders instead of 3`);
      },
    },
    {
      what: 'copy',
      async run() {
        if (written === null) return null;
        const copy = toObjectKey(`${folder}copy`);
        keys.push(copy);
        await store.copy(key, copy, body.length);
        return (await store.read(copy)).equals(body) ? null : wrong('a copy differs from its source');
      },
    },
    {
      what: 'upload in parts',
      least: UPLOAD_TIMEOUT_MS,
      run: () => store.probeUploads().then(() => null),
    },
    {
      what: 'conditional write',
      async run() {
        const alone = await probeConditionalWrites(store);
        const found = conditionProblem(
          alone.outcome === 'supported' ? await raceConditionalWrites(store) : alone,
        );
        const remedy =
          'Use a store that supports them, or a newer version of this store, and a proxy that passes these headers and the ETag on. Without them, two writers could overwrite each other.';
        return found === null ? null : problem('lake', 'configuration', found, remedy);
      },
    },
    {
      what: 'clock',
      async run() {
        const info = written === null ? null : await store.head(key);
        return info === null ? null : clockFinding('the lake', info.modifiedAt, written!.at);
      },
    },
    {
      what: 'delete',
      async run() {
        const { refused, said } = await store.remove(keys);
        // Runs publish, but the lake grows, and a purge cannot remove a record.
        if (refused > 0)
          return warning(
            'lake',
            `the store refuses to remove objects (${said}). Exports work and warn, the lake grows, and a purge fails`,
            'Allow s3:DeleteObject, or end the lock or the default retention of the bucket.',
          );
        const left = await store.readIfExists(key);
        return left === null ? null : inconsistent('an object still exists after it was deleted');
      },
    },
  ];
}

function wrong(what: string): Finding {
  const remedy = 'Use another store, or check that a proxy in front of it changes nothing.';
  return problem('lake', 'other', what, remedy);
}

function inconsistent(what: string): Finding {
  return problem('lake', 'other', what, 'Use a store with read-after-write consistency, such as S3.');
}

function isFatal(error: unknown): boolean {
  return error instanceof OutOfReachError || (error instanceof StoreError && FATAL.includes(error.kind));
}

/** The steps that failed. One cause is one finding, however many steps it fails. */
class Failures {
  readonly #byCause = new Map<
    string,
    { readonly what: string; readonly finding: Finding; readonly also: string[] }
  >();

  add(what: string, error: unknown): void {
    const said = error instanceof StoreError ? error.said : null;
    const cause = said === null ? what : JSON.stringify([said, (error as StoreError).remedy]);
    const first = this.#byCause.get(cause);
    if (first === undefined) this.#byCause.set(cause, { what, finding: failed(what, error), also: [] });
    else first.also.push(what);
  }

  findings(): Finding[] {
    return [...this.#byCause.values()].map(({ what, finding, also }) => {
      const { message } = finding;
      return about(
        what,
        also.length === 0
          ? finding
          : { ...finding, message: `${message}; these fail too: ${also.join(', ')}` },
      );
    });
  }
}

function failed(what: string, error: unknown): Finding {
  // Every object that a step reads has just been written.
  if (error instanceof ObjectNotFoundError)
    return inconsistent(`${what}: an object that was just written is missing`);
  if (error instanceof StoreError) {
    const cause =
      error.exitCode === EXIT.usage ? 'configuration' : error.retryable ? 'out-of-reach' : 'other';
    const message = error.message.replace(`. ${error.remedy}`, '');
    return problem('lake', cause, message, error.remedy);
  }
  if (error instanceof OutOfReachError) {
    const remedy = 'Check lake.endpoint, the network, and that the store is running.';
    return problem('lake', 'out-of-reach', `${what}: ${error.message}`, remedy);
  }
  return problem('lake', 'other', `${what}: ${errorMessage(error)}`, 'Check `lake` in the configuration.');
}
