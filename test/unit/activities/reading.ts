import { Context } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import type { PhaseEnded, PhaseRef } from '../../../src/core/contract/index.js';
import { NO_METER } from '../../../src/core/metrics.js';
import type { RunFile } from '../../../src/lake/documents/run-file.js';
import type { Stage } from '../../../src/lake/documents/stage-file.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import { AttemptProgress, temporalClock } from '../../../src/run/activity-context.js';
import type { ActivityDeps, OpenConnection } from '../../../src/run/deps.js';
import { withFailures } from '../../../src/run/failures.js';
import { readPages } from '../../../src/run/read/read-pages.js';
import { type Journal, stagedKey } from '../../../src/run/run-journal.js';
import { STAGE } from '../../../src/run/staged-documents.js';
import { fixRun, readJournal, Staging } from '../../../src/run/staging.js';
import { client, HTTP, service } from '../api/support.js';
import { BASE, RUN } from './run.js';

/** A page of a service under test, or a failure: a status, or a connection that is closed without an answer. */
export type Answer =
  | {
      readonly ids: readonly string[];
      readonly next: string | null;
      readonly more?: object;
      readonly date?: number | null;
    }
  | { readonly status: number; readonly message?: string }
  | 'close'
  /** The body ends in the middle. */
  | 'cut'
  /** The body is larger than `http.maxBody`. */
  | 'flood'
  /** 204, without a body. */
  | 'no content'
  /** 200 with `"data": null`. */
  | 'null'
  /** The worker is lost: the attempt never ends, and Temporal starts the next one. */
  | 'lost';

export interface Asked {
  readonly limit: number;
  readonly cursor: string | null;
  readonly updatedSince: string | null;
  /** Number of the request, from 1. */
  readonly count: number;
}

/** What happened until the end of a reading. */
export interface Reading {
  readonly requests: readonly Asked[];
  readonly calls: number;
  /** Of rows. */
  readonly stagedBytes: number;
  /** Its last stage, with what the journal says of the reading; `null`: no call has ended. */
  readonly result: (Stage & Pick<Journal, 'rows'>) | null;
  /** Its last stage document; `null`: no call has ended. */
  readonly stage: ObjectKey | null;
  readonly error: string | null;
}

export interface ReadOptions {
  readonly store: ObjectStore;
  readonly answer: (asked: Asked) => Answer;
  readonly run?: Partial<RunFile>;
  /** Pages per call of the activity: then the worker shuts down. Default: no limit. */
  readonly pagesPerCall?: number;
  /** How often the activity is attempted after transient failures. Default 1. */
  readonly attempts?: number;
  /** Added to the clock with each request, ms. */
  readonly msPerRequest?: number;
  /** Called after each call of the activity. */
  readonly onCall?: (stagedBytes: number) => void;
}

/** The number of the first record of a page of `numberedList`. */
export const startOf = ({ cursor }: Asked): number => Number(cursor ?? 0);

/** A list whose cursor is the number of the next record. */
export function numberedList(rows: number): (asked: Asked) => Answer {
  return (asked) => {
    const from = startOf(asked);
    const to = Math.min(rows, from + asked.limit);
    const ids = Array.from({ length: to - from }, (_, at) => `record-${String(from + at).padStart(6, '0')}`);
    return { ids, next: to < rows ? String(to) : null };
  };
}

let runs = 0;

/** Reads a list with `extractPages`, calls in turn as the mirror makes them, until it ends or fails. */
export async function readList(options: ReadOptions): Promise<Reading> {
  const { store, answer, pagesPerCall = Number.POSITIVE_INFINITY, attempts = 1, msPerRequest = 0 } = options;
  const requests: Asked[] = [];
  let passed = 0;
  let pages = 0;
  let lose = (): void => {};
  const { url } = await service((request, response, count) => {
    const query = new URL(request.url, 'http://localhost').searchParams;
    const asked = {
      limit: Number(query.get('limit')),
      cursor: query.get('cursor'),
      updatedSince: query.get('updatedSince'),
      count,
    };
    requests.push(asked);
    passed += msPerRequest;
    const found = answer(asked);
    if (found === 'lost') return lose();
    if (found === 'close') return void response.socket?.destroy();
    if (found === 'cut') return void response.writeHead(200).end('{"data":[{"id":"a"},{"id":');
    if (found === 'flood') return void response.writeHead(200).end(Buffer.alloc(HTTP.maxBodyBytes + 1, ' '));
    if (found === 'no content') return void response.writeHead(204).end();
    if (found === 'null') return void response.writeHead(200).end('{"data":null}');
    if ('status' in found)
      return void response
        .writeHead(found.status)
        .end(JSON.stringify({ message: found.message ?? 'upstream failed' }));
    pages++;
    const data = found.ids.map((id) => ({ id, name: `record ${id}`, ...found.more }));
    if (found.date === null) response.sendDate = false;
    else if (found.date !== undefined) response.setHeader('date', new Date(found.date).toUTCString());
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ data, page: { limit: asked.limit, nextCursor: found.next } }));
  });
  const runId = `20261121T020000Z-${(runs++).toString(16).padStart(8, '0')}` as RunId;
  const ref = { connection: 'acme', resource: 'tasks', runId };
  const before = options.run?.before;
  const run = {
    ...RUN,
    ...{ runId, startedAt: Date.now(), readSince: Date.now() },
    sync: { pageSize: 1000, overlapMs: 300_000, clock: 'earliest', endCursors: [] },
    resource: { ...RUN.resource, badRecords: 'stop' },
    ...options.run,
    ...(before && { before: { ...BASE, ...before } }),
  } as unknown as RunFile;
  await fixRun(store, run);
  const settings = { masking: null, baseUrl: RUN.baseUrl } as unknown as OpenConnection['settings'];
  const random = () => 0;
  const connection = { settings, store, client: client(url, { random }) };
  let drainAt = pagesPerCall;
  const deps: ActivityDeps = {
    connection: () => connection,
    origin: 'a test',
    now: () => Date.now() + passed,
    draining: () => pages >= drainAt,
    meter: NO_METER,
  };
  const extract = withFailures((input: PhaseRef) => {
    const context = Context.current();
    const staging = new Staging(aliveStore(context.cancellationSignal), input, context.info.attempt);
    const clock = temporalClock(() => Date.now() + passed);
    return readPages({ deps, connection, staging, clock, progress: new AttemptProgress() });
  });
  let result: Reading['result'] = null;
  for (let call = 0; ; call++) {
    const input: PhaseRef = { ...ref, step: call, batch: 0 };
    const scheduled = Date.now() + passed;
    let heartbeatDetails: unknown;
    for (let attempt = 1; ; attempt++) {
      const environment = new MockActivityEnvironment({
        attempt,
        heartbeatDetails,
        scheduledTimestampMs: scheduled,
        currentAttemptScheduledTimestampMs: Date.now() + passed,
      });
      let isLost = false;
      const loss = new Promise<'lost'>((resolve) => {
        lose = () => {
          isLost = true;
          environment.cancel('WORKER_SHUTDOWN');
          resolve('lost');
        };
      });
      environment.on('heartbeat', (details: unknown) => {
        if (!isLost) heartbeatDetails = details;
      });
      try {
        const running: Promise<PhaseEnded> = environment.run(extract, input);
        const ended = await Promise.race([running, loss]);
        if (ended === 'lost') {
          await running.catch(() => {});
          continue;
        }
        const { stage, rows, reading } = (await readJournal(store, ref))!;
        const last = await new Staging(store, ref, attempt).read(STAGE, stage!);
        result = { ...last, rows, done: reading > 0 };
        break;
      } catch (error) {
        const { message, nonRetryable } = error as { message: string; nonRetryable?: boolean };
        if (nonRetryable !== true && attempt < attempts) continue;
        return end(call, message);
      }
    }
    options.onCall?.(await staged());
    if (result.done) return end(call, null);
    drainAt = pages + pagesPerCall;
  }

  /** The store, as a worker has it until it is lost. */
  function aliveStore(signal: AbortSignal): ObjectStore {
    return new Proxy(store, {
      get(target, name) {
        const found = Reflect.get(target, name, target) as unknown;
        if (typeof found !== 'function') return found;
        return (...input: unknown[]) => {
          signal.throwIfAborted();
          return found.apply(target, input) as unknown;
        };
      },
    });
  }

  async function end(call: number, error: string | null): Promise<Reading> {
    const { stage } = (await readJournal(store, ref))!;
    return { requests, calls: call + 1, stagedBytes: await staged(), result, stage, error };
  }

  async function staged(): Promise<number> {
    let bytes = 0;
    // A slow machine writes more of the documents that name the rows.
    for await (const { key, bytes: size } of store.list(stagedKey(ref, '')))
      if (!key.endsWith('.json')) bytes += size;
    return bytes;
  }
}
