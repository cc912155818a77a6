import { randomBytes } from 'node:crypto';
import { errorMessage } from '../core/errors.js';
import { EXIT } from '../core/exit-code.js';
import { OutOfReachError, withTimeout } from '../core/reach.js';
import type { ConnectionSettings } from '../core/settings.js';
import { LakeLayoutError } from '../lake/published/layout-version.js';
import { checkLayoutOf } from '../lake/published/pointer.js';
import {
  type ObjectStore,
  openStore,
  StoreError,
  type StoreErrorKind,
  toObjectKey,
} from '../lake/store/index.js';
import { clockFinding } from './clock.js';
import { type Finding, ok, problem } from './finding.js';

/** After these errors, further requests fail the same way. */
const FATAL: readonly StoreErrorKind[] = ['missing-bucket', 'bad-credentials', 'unreachable', 'clock-skew'];

interface Step {
  readonly what: string;
  /** Runs the step and returns findings other than its success. */
  run(): Promise<Finding[]>;
}

/**
 * Performs the operations of a run on a probe object below `_staging/`: write, read, list, conditional write, delete.
 * Leaves nothing behind.
 *
 * @param timeoutMs time limit of one step
 */
export async function checkLake(
  { lake, resources }: ConnectionSettings,
  timeoutMs: number,
): Promise<Finding[]> {
  let store: ObjectStore;
  try {
    store = openStore(lake);
  } catch (error) {
    return [failed('use', error)];
  }
  const findings: Finding[] = [];
  const passed: string[] = [];
  try {
    const layout = await withTimeout(layoutProblem(store, resources), timeoutMs).catch(() => null);
    // Nothing is written to such a lake.
    if (layout !== null) return [layout];
    for (const { what, run } of stepsOf(store)) {
      try {
        findings.push(...(await withTimeout(run(), timeoutMs)));
        passed.push(what);
      } catch (error) {
        findings.push(failed(what, error));
        if (isFatal(error)) break;
      }
    }
  } finally {
    store.close();
  }
  return passed.length === 0 ? findings : [ok('lake', `${lake.url}: ${passed.join(', ')}`), ...findings];
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
  const key = toObjectKey(`_staging/_doctor-${randomBytes(8).toString('hex')}`);
  const body = Buffer.from('{"probe":"doctor"}');
  let written: { at: number } | null = null;
  return [
    {
      what: 'write',
      async run() {
        const began = Date.now();
        await store.write(key, body, { contentType: 'application/json' });
        written = { at: (began + Date.now()) / 2 };
        return [];
      },
    },
    {
      what: 'read',
      async run() {
        if (written === null) return [];
        const found = await store.read(key);
        return found.equals(body)
          ? []
          : [inconsistent(`read ${found.length} bytes that differ from the ${body.length} bytes written`)];
      },
    },
    {
      what: 'list',
      async run() {
        let found = false;
        for await (const listed of store.list(key)) found ||= listed.key === key;
        return written === null || found
          ? []
          : [inconsistent('a listing does not show an object that was just written')];
      },
    },
    { what: 'conditional write', run: async () => conditionalWrites(await store.probeConditionalWrites()) },
    {
      what: 'clock',
      async run() {
        const info = written === null ? null : await store.head(key);
        return info === null ? [] : [clockFinding('the lake', info.modifiedAt, written!.at)];
      },
    },
    {
      what: 'delete',
      async run() {
        await store.remove([key]);
        const left = await store.readIfExists(key);
        return left === null ? [] : [inconsistent('an object still exists after it was deleted')];
      },
    },
  ];
}

function conditionalWrites(found: Awaited<ReturnType<ObjectStore['probeConditionalWrites']>>): Finding[] {
  if (found === 'supported') return [];
  return [
    problem(
      'lake',
      'configuration',
      `the store ${found === 'ignored' ? 'ignores the conditions of' : 'rejects'} conditional writes (If-Match, If-None-Match)`,
      'Use a store that supports them, or a newer version of this store. Without them, two writers could overwrite each other.',
    ),
  ];
}

function inconsistent(what: string): Finding {
  return problem('lake', 'other', what, 'Use a store with read-after-write consistency, such as S3.');
}

function isFatal(error: unknown): boolean {
  return error instanceof OutOfReachError || (error instanceof StoreError && FATAL.includes(error.kind));
}

function failed(what: string, error: unknown): Finding {
  if (error instanceof StoreError) {
    const cause =
      error.exitCode === EXIT.usage ? 'configuration' : error.retryable ? 'out-of-reach' : 'other';
    const message = error.message.replace(`. ${error.remedy}`, '');
    return problem('lake', cause, message, error.remedy);
  }
  if (error instanceof OutOfReachError)
    return problem(
      'lake',
      'out-of-reach',
      `${what}: ${error.message}`,
      'Check lake.endpoint, the network, and that the store is running.',
    );
  return problem('lake', 'other', `${what}: ${errorMessage(error)}`, 'Check `lake` in the configuration.');
}
