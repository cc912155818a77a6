import { describe, expect, it } from 'vitest';
import { batchLine, batchProgressOn } from '../../../src/cli/progress/progress-views.js';
import { EXIT, writeBackExitCode } from '../../../src/cli/shared/choose-exit-code.js';
import { batchDiagnostics, resultLine } from '../../../src/cli/write-back/batch-lines.js';
import type { ObjectKey } from '../../../src/core/brands.js';
import { NO_DIFFERENCES, noRows, type WriteBackResult } from '../../../src/core/contract/write-back.js';
import type { WriteBackView } from '../../../src/temporal/follow/follow-write-back.js';

const RESULT: WriteBackResult = {
  batchId: 'b',
  outcome: 'written',
  counts: { ...noRows(), created: 1200 },
  results: '_write-back/b/results.csv' as ObjectKey,
  rows: 1200,
  unsent: 0,
  refusals: null,
  ...NO_DIFFERENCES,
  warnings: [],
  error: null,
};
const VIEW: WriteBackView = {
  workflowId: 'w',
  stage: 'send',
  rows: 1200,
  done: 300,
  waitingUntil: null,
  failure: null,
  unpause: null,
  worker: 'present',
};

describe('the end of a batch', () => {
  it('gives the exit codes of the contract', () => {
    const failed = { type: 'Transient', message: 'm' } as const;
    expect(writeBackExitCode(RESULT)).toBe(EXIT.done);
    expect(writeBackExitCode({ outcome: 'incomplete', error: null })).toBe(EXIT.failed);
    expect(writeBackExitCode({ outcome: 'cancelled', error: null })).toBe(EXIT.failed);
    expect(writeBackExitCode({ outcome: 'failed', error: failed })).toBe(EXIT.failed);
    expect(writeBackExitCode({ outcome: 'failed', error: { type: 'Configuration', message: 'm' } })).toBe(
      EXIT.usage,
    );
    expect(writeBackExitCode({ outcome: 'refused', error: { type: 'Refused', message: 'm' } })).toBe(
      EXIT.refused,
    );
  });

  it('shows the number of rows per outcome in one line', () => {
    expect(resultLine(RESULT)).toBe('Batch b: written, 1,200 created');
    expect(resultLine({ ...RESULT, batchId: '3b860e3713d2'.padEnd(64, '0') })).toContain(
      'Batch 3b860e3713d2: ',
    );
    const stopped = {
      ...RESULT,
      outcome: 'refused',
      unsent: 3,
      error: { type: 'Refused', message: 'no' },
    } as const;
    expect(resultLine(stopped)).toBe('Batch b: refused, 1,200 created, 3 not sent');
    expect(batchDiagnostics(stopped)).toEqual([
      'refused: no',
      '3 rows not sent. To send them, run the same command again.',
    ]);
    const unknown = { ...RESULT, outcome: 'incomplete', counts: { ...noRows(), unknown: 2 } } as const;
    expect(batchDiagnostics(unknown)).toContain('  worktrack write-back resend b --unknown');
    // `resend --unknown` sends only rows that the batch itself has sent.
    expect(batchDiagnostics({ ...unknown, ofOthers: 1 })).toEqual([
      expect.stringMatching(/^1 row unknown: no response showed/),
      ...batchDiagnostics(unknown).slice(1),
      expect.stringMatching(/^1 row is unknown and was not sent, because another batch/),
    ]);
    expect(batchDiagnostics({ ...unknown, ofOthers: 2 })).toEqual([
      expect.stringMatching(/^2 rows are unknown and were not sent/),
    ]);
  });
});

describe('the progress of a batch', () => {
  it('is one line with the stage, the progress and the reason for a wait', () => {
    expect(batchLine(VIEW, 85.2, 0)).toBe('sending  300 of 1,200 rows  85 rows/s');
    expect(batchLine({ ...VIEW, waitingUntil: 5_000 }, null, 1_000)).toContain(
      'waiting 4 s, as requested by the service',
    );
    const trouble = { message: 'the service answered 503', attempt: 2, retry: 'waiting' } as const;
    expect(batchLine({ ...VIEW, failure: trouble }, null, 0)).toContain('attempt 2 failed, retrying');
    expect(
      batchLine({ ...VIEW, worker: { kind: 'no-worker', taskQueue: 'worktrack', others: [] } }, null, 0),
    ).toContain('waiting for a worker');
  });

  it('says on a terminal in full how to start a worker', () => {
    let text = '';
    const progress = batchProgressOn({ isTTY: true, columns: 40, write: (more) => (text += more) });
    progress.show(VIEW, 0);
    progress.show({ ...VIEW, worker: { kind: 'no-worker', taskQueue: 'worktrack', others: [] } }, 100);
    progress.show({ ...VIEW, worker: { kind: 'no-worker', taskQueue: 'worktrack', others: [] } }, 200);
    // Redrawn in place, with the command in one piece.
    const frame = text.slice(text.lastIndexOf('\x1b[J'));
    expect(frame.match(/`worktrack worker`/g)).toHaveLength(1);
  });

  it('is written to a log when the stage changes, and every few seconds', () => {
    const written: string[] = [];
    const progress = batchProgressOn({ write: (text) => written.push(text) });
    for (let at = 0; at <= 6_000; at += 1_000) progress.show({ ...VIEW, done: at }, at);
    progress.show({ ...VIEW, stage: 'results', done: 6_000 }, 6_100);
    expect(written.length).toBe(3);
    expect(written.at(-1)).toContain('writing the results');
  });
});
