import { expect, it } from 'vitest';
import type { MirrorRequest } from '../../../src/core/contract/index.js';
import { DAY_MS } from '../../../src/core/duration.js';
import { datedAt, runSpec } from '../../../src/core/mirror-requests.js';

const NIGHT = Date.parse('2028-02-28T23:00:00Z');
const scheduled: MirrorRequest = { ...runSpec(NIGHT), requestId: 'r', replyTo: null };

it.each([
  [0, NIGHT],
  [DAY_MS, NIGHT],
  [DAY_MS + 1, NIGHT + DAY_MS + 1],
  [3 * DAY_MS, NIGHT + 3 * DAY_MS],
])('a run that begins %d ms after its scheduled time has the day of %d', (late, day) => {
  expect(datedAt(scheduled, NIGHT + late)).toEqual({ ...scheduled, nominalStart: day });
});
