import { ApplicationFailure } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import type { StepHeartbeat } from '../../../src/core/contract/index.js';
import { MINUTE_MS } from '../../../src/core/duration.js';
import type { ActivityDeps } from '../../../src/run/deps.js';
import { toFailure } from '../../../src/run/failures.js';
import { BATCH } from '../../../src/run/merge-result.js';
import { failureInLake } from '../../../src/run/run-failures.js';
import { JOURNAL, newJournal } from '../../../src/run/run-journal.js';
import { decodeDocument, encodeDocument, JOURNAL_LAYOUT } from '../../../src/run/staged-documents.js';
import { Staging } from '../../../src/run/staging.js';
import { temporaryLake } from '../lake/data-plane.js';
import { RUN } from './run.js';

const KEY = '_staging/tasks/20261121T020000Z-00000001/run.json' as ObjectKey;
const lake = temporaryLake();
const BEGUN = newJournal(RUN);

function withLayout(layout: number): Buffer {
  const { document, ...rest } = JSON.parse(encodeDocument(JOURNAL, BEGUN).toString()) as {
    document: object;
  };
  return Buffer.from(JSON.stringify({ ...rest, layout, document }));
}

describe('a document that a run has staged', () => {
  it.each([JOURNAL_LAYOUT, JOURNAL_LAYOUT - 1])('is read in layout %d', (layout) => {
    expect(decodeDocument(JOURNAL, withLayout(layout), KEY)).toEqual(JSON.parse(JSON.stringify(BEGUN)));
  });

  it.each([JOURNAL_LAYOUT + 1, JOURNAL_LAYOUT - 2])('is not read in layout %d', (layout) => {
    expect(() => decodeDocument(JOURNAL, withLayout(layout), KEY)).toThrow(
      expect.objectContaining({
        ...{ code: 'LAKE_LAYOUT', retryable: true, unread: { object: KEY, layout } },
        message: expect.stringContaining(`${KEY} has layout ${layout} of a run, written by worktrack`),
      }),
    );
  });

  it.each([
    ['{}', '{}'],
    ['a document without a layout', JSON.stringify(BEGUN)],
    ['no JSON', 'run'],
    ['nothing', ''],
    ['the half of one', withLayout(JOURNAL_LAYOUT).subarray(0, 300).toString()],
    ['a document without its fields', withLayout(JOURNAL_LAYOUT).toString().replace('"mode"', '"mood"')],
    ['a document of another kind', encodeDocument(BATCH, { tasks: [], repeated: 0, found: 0 }).toString()],
    ['null', 'null'],
  ])('is not read if it is %s', (_, text) => {
    expect(() => decodeDocument(JOURNAL, Buffer.from(text), KEY)).toThrow(
      expect.objectContaining({ code: 'LAKE_LAYOUT', unread: { object: KEY, layout: null } }),
    );
  });

  it('is named without a value of it', () => {
    const body = encodeDocument(JOURNAL, { ...BEGUN, absent: ['a secret', 7] as never });
    expect(() => decodeDocument(JOURNAL, body, KEY)).toThrow(/^(?!.*secret).*not valid at "absent\.1"/);
  });
});

describe('a phase that cannot read it', () => {
  const ref = { connection: 'acme', resource: 'tasks', runId: RUN.runId as RunId };
  const settings = { retries: { giveUpAfterMs: 30 * MINUTE_MS } };
  const deps = { connection: () => ({ store: lake.store, settings }) } as unknown as ActivityDeps;

  /** An attempt of the phase. @returns its failure, and its last heartbeat */
  async function attempt(now: number, heartbeatDetails?: StepHeartbeat) {
    const beats: StepHeartbeat[] = [];
    const environment = new MockActivityEnvironment({ activityType: 'worktrack.merge', heartbeatDetails });
    environment.on('heartbeat', (beat: StepHeartbeat) => beats.push(beat));
    const failure = await environment.run(async () => {
      const error = await new Staging(lake.store, ref, 1).journal().catch((thrown: unknown) => thrown);
      return failureInLake(deps, ref, toFailure(error), () => now);
    });
    return { failure: failure as ApplicationFailure, beat: beats.at(-1)! };
  }

  it('waits ten minutes for a worker that can, and keeps the position of the one before', async () => {
    await lake.store.write(new Staging(lake.store, ref, 1).key('run.json'), Buffer.from('{}'));
    const first = await attempt(0, { mergedRows: 7 });
    expect(first.failure).toBeInstanceOf(ApplicationFailure);
    expect(first.failure).toMatchObject({
      ...{ type: 'Transient', nonRetryable: false, details: [{ unread: { layout: null } }] },
      message: expect.stringContaining('run.json is no document with a layout number'),
    });
    expect(first.beat).toEqual({ mergedRows: 7, unreadSince: 0 });
    const second = await attempt(10 * MINUTE_MS - 1, first.beat);
    expect(second.failure).toMatchObject({ type: 'Transient', nonRetryable: false });
    const third = await attempt(10 * MINUTE_MS, second.beat);
    expect(third.failure).toMatchObject({
      ...{ type: 'Transient', nonRetryable: true, details: first.failure.details },
    });
  });
});
