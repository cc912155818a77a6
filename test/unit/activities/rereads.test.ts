import { expect, it } from 'vitest';
import { MAX_REREADS } from '../../../src/core/mirror-requests.js';
import type { RunFile } from '../../../src/lake/documents/run-file.js';
import { afterMerge } from '../../../src/run/merge/rereads.js';
import { firstStage } from '../../../src/run/read/read-stage.js';
import { type Journal, newJournal } from '../../../src/run/run-journal.js';
import type { Merged } from '../../../src/run/staging.js';
import { RUN } from './run.js';

interface Signs {
  readonly repeated?: number;
  readonly found?: number;
  /** Differences of an audit. */
  readonly open?: number;
  readonly shifted?: boolean;
}

function after(
  { repeated = 0, found = 0, open = 0, shifted = false }: Signs,
  journal: Partial<Journal> = {},
  run: Partial<RunFile> = {},
) {
  const results = [{ tasks: [{ audit: { open } }], repeated, found }];
  const merged = {
    journal: { ...newJournal({ ...RUN, ...run }), ahead: [{ do: 'merge' }, { do: 'publish' }], ...journal },
    ...{ stages: [{ ...firstStage(RUN), shifted }], plan: { repeated: 0 }, results },
  };
  return afterMerge(merged as unknown as Merged);
}

const AGAIN = [
  { do: 'read', kind: 'list' },
  { do: 'read', kind: 'catch-up' },
];
const MERGE = [{ do: 'mergePlan' }, { do: 'merge' }, { do: 'publish' }];

it.each<[string, Signs, Partial<Journal>, object]>([
  ['no sign of a shift', {}, {}, { shifted: false }],
  ['signs in its first merge', { repeated: 1, found: 9 }, {}, { rereads: 1, hidesRows: false }],
  ['signs in a reread that finds no other row', { repeated: 1 }, { rereads: 1 }, { shifted: false }],
  ['signs in a reread that finds other rows', { repeated: 1, found: 1 }, { rereads: 1 }, { hidesRows: true }],
  ['a reread without signs', { found: 1 }, { rereads: 1 }, { shifted: false }],
  [
    'a shift that an earlier reread has shown to hide rows',
    { shifted: true },
    { rereads: MAX_REREADS, hidesRows: true },
    { shifted: true },
  ],
])('a run with %s is published, or reads its list again', (_, signs, journal, expected) => {
  const found = after(signs, journal);
  expect(found).toMatchObject(expected);
  if (!('shifted' in found)) expect(found.ahead).toEqual([...AGAIN, ...MERGE]);
});

it('an audit with differences reads again, and looks again for the records that it missed', () => {
  const audit = { absent: 'extra' } as const;
  const again = after({ open: 1 }, { reading: 2 }, { audit, reconcile: true });
  const settle = { do: 'settle', since: 2, pass: 'first' };
  expect(again).toEqual({ rereads: 1, hidesRows: false, ahead: [...AGAIN, settle, ...MERGE] });
  const sample = after({ open: 1 }, { reading: 2 }, { audit: { ...audit, sample: 0.1 }, reconcile: true });
  expect(sample).toMatchObject({ ahead: [AGAIN[1], { ...settle, since: 0 }, ...MERGE] });
  expect(after({ open: 1 }, { rereads: MAX_REREADS }, { audit, reconcile: true })).toEqual({
    shifted: false,
  });
});
