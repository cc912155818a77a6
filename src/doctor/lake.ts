import { randomBytes } from 'node:crypto';
import type { ConnectionSettings } from '../core/settings.js';
import { type ObjectStore, openStore, StoreError, toObjectKey } from '../lake/store/index.js';
import { bounded, NoAnswerError } from './bounded.js';
import { clockFinding } from './clock.js';
import { type Finding, ok, problem } from './finding.js';

type Kind = StoreError['kind'];

/** After these, nothing else would come out of further requests. */
const HOPELESS: readonly Kind[] = ['missing-bucket', 'bad-credentials', 'unreachable', 'clock-skew'];
const CONFIGURATION: readonly Kind[] = [
  'missing-bucket',
  'bad-credentials',
  'access-denied',
  'invalid-key',
  'clock-skew',
];

interface Step {
  readonly what: string;
  /** Further findings beside that it worked. */
  run(): Promise<Finding[]>;
}

/**
 * Does with an object of its own below `_staging/` what a run does: writes, writes on a condition, reads, lists,
 * deletes. Nothing is left behind.
 *
 * @param timeoutMs for one step
 */
export async function checkLake({ lake }: ConnectionSettings, timeoutMs: number): Promise<Finding[]> {
  let store: ObjectStore;
  try {
    store = openStore(lake);
  } catch (error) {
    return [failed('use', error)];
  }
  const findings: Finding[] = [];
  const worked: string[] = [];
  try {
    for (const { what, run } of stepsOf(store)) {
      try {
        findings.push(...(await bounded(timeoutMs, run())));
        worked.push(what);
      } catch (error) {
        findings.push(failed(what, error));
        if (isHopeless(error)) break;
      }
    }
  } finally {
    store.close();
  }
  return worked.length === 0 ? findings : [ok('lake', `${lake.url}: ${worked.join(', ')}`), ...findings];
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
        return found.equals(body) ? [] : [spoilt(`read back ${found.length} other bytes than were written`)];
      },
    },
    {
      what: 'list',
      async run() {
        let found = false;
        for await (const listed of store.list(key)) found ||= listed.key === key;
        return written === null || found ? [] : [spoilt('a listing does not show what was written')];
      },
    },
    { what: 'conditional write', run: async () => conditions(await store.probeConditionalWrites()) },
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
        return left === null ? [] : [spoilt('an object is still there after it was deleted')];
      },
    },
  ];
}

function conditions(found: Awaited<ReturnType<ObjectStore['probeConditionalWrites']>>): Finding[] {
  if (found === 'supported') return [];
  return [
    problem(
      'lake',
      'configuration',
      `the store ${found === 'ignored' ? 'drops the conditions of' : 'does not take'} conditional writes (If-Match, If-None-Match)`,
      'Use a store that keeps them, or a newer version of this one: without them two writers could overwrite each other.',
    ),
  ];
}

function spoilt(what: string): Finding {
  return problem('lake', 'other', what, 'Use a store with read-after-write consistency, as S3 has.');
}

function isHopeless(error: unknown): boolean {
  return error instanceof NoAnswerError || (error instanceof StoreError && HOPELESS.includes(error.kind));
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
  if (error instanceof NoAnswerError)
    return problem(
      'lake',
      'out-of-reach',
      `${what}: ${error.message}`,
      'Check lake.endpoint, the network and that the store is running.',
    );
  const message = error instanceof Error ? error.message : String(error);
  return problem(
    'lake',
    'other',
    `${what}: ${message}`,
    'Check lake.url and the rest of `lake` in the configuration.',
  );
}
