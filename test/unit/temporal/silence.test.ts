import { describe, expect, it } from 'vitest';
import { type Silence, silenceSentences } from '../../../src/temporal/status/silence.js';

const WORKER = { identity: '7@host', version: null, receivesRuns: true };
const WORKFLOW = 'worktrack/acme/export/1';

describe('the reason why no worker answers', () => {
  const table: readonly [Silence, RegExp][] = [
    [
      { kind: 'no-worker', taskQueue: 'worktrack', others: [] },
      /^No worker polls task queue "worktrack"\. Start one .*`worktrack worker`\.$/,
    ],
    [{ kind: 'no-worker', taskQueue: 'other', others: [] }, /`worktrack worker --task-queue other`/],
    [
      { kind: 'no-worker', taskQueue: 'worktrack', others: ['tracking'] },
      /"worktrack"\. Workers poll "tracking": if you mean them, add --task-queue tracking\. Start one/,
    ],
    [
      { kind: 'no-worker', taskQueue: 'worktrack', others: ['a', 'b'] },
      /Workers poll "a", "b": if you mean them, add --task-queue NAME\. Start one/,
    ],
    [
      { kind: 'no-build', workflowId: WORKFLOW, version: { deploymentName: 'd', buildId: 'b1' } },
      /^worktrack\/acme\/export\/1 waits for build b1 of deployment d, and no worker .*`worktrack unpin`/,
    ],
    [
      {
        kind: 'not-current',
        workers: [{ ...WORKER, version: { deploymentName: 'worktrack', buildId: '2' }, receivesRuns: false }],
      },
      /worker 7@host runs build 2 .*not the current version.* worktrack upgrade 2/,
    ],
    [
      { kind: 'failing', workflowId: WORKFLOW, error: 'Unknown encoding: binary/encrypted' },
      /fail: Unknown encoding.*same --data-converter.*terminate/,
    ],
    [
      { kind: 'failing', workflowId: WORKFLOW, error: 'Nondeterminism error' },
      /fail: Nondeterminism error\. Start the build/,
    ],
    [{ kind: 'busy', workers: [WORKER] }, /poll, but do not answer: 7@host/],
  ];

  it.each(table)('%j names its own remedy, and starts a worker only if none polls', (silence, expected) => {
    const text = silenceSentences(silence);
    expect(text).toMatch(expected);
    expect(text.includes('Start one in another terminal')).toBe(silence.kind === 'no-worker');
  });
});
