import { randomBytes } from 'node:crypto';
import type { ConnectionSettings } from '../core/settings.js';
import { type ObjectStore, openStore, StoreError, toObjectKey } from '../lake/store/index.js';

import { clockFinding } from './clock.js';
import { type Finding, ok, problem } from './finding.js';
import { answerWithin, NoResponseError } from './timeout.js';

type Kind = StoreError['kind'];

/** After these errors, further requests fail the same way. */
const FATAL: readonly Kind[] = ['missing-bucket', 'bad-credentials', 'unreachable', 'clock-skew'];
const CONFIGURATION: readonly Kind[] = [
  'missing-bucket',
  'bad-credentials',
  'access-denied',
  'invalid-key',
  'clock-skew',
];

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
export async function checkLake({ lake }: ConnectionSettings, timeoutMs: number): Promise<Finding[]> {
  let store: ObjectStore;
  try {
    store = openStore(lake);
  } catch (error) {
    return [failed('use', error)];
  }
  const findings: Finding[] = [];
  const passed: string[] = [];
  try {
    for (const { what, run } of stepsOf(store)) {
      try {
        findings.push(...(await answerWithin(timeoutMs, run())));
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
  return error instanceof NoResponseError || (error instanceof StoreError && FATAL.includes(error.kind));
}

function failed(what: string, error: unknown): Finding {
  if (error instanceof StoreError) {
    const cause = CONFIGURATION.includes(error.kind)
      ? 'configuration'
      : error.retryable
        ? 'out-of-reach'
        : 'other';
    const message = error.message.replace(`. ${error.remedy}`, '');
    return problem('lake', cause, message, error.remedy);
  }
  if (error instanceof NoResponseError)
    return problem(
      'lake',
      'out-of-reach',
      `${what}: ${error.message}`,
      'Check lake.endpoint, the network, and that the store is running.',
    );
  const message = error instanceof Error ? error.message : String(error);
  return problem('lake', 'other', `${what}: ${message}`, 'Check `lake` in the configuration.');
}
