import { expect, it } from 'vitest';
import { DAY_MS } from '../../../src/core/duration.js';
import { nominalStartOf } from '../../../src/core/mirror-requests.js';

const NIGHT = Date.parse('2028-02-28T23:00:00Z');

it.each([
  [0, NIGHT],
  [DAY_MS, NIGHT],
  [DAY_MS + 1, NIGHT + DAY_MS + 1],
  [3 * DAY_MS, NIGHT + 3 * DAY_MS],
])('an export that begins %d ms after its scheduled time has the nominal start %d', (late, nominal) => {
  expect(nominalStartOf(NIGHT, NIGHT + late)).toBe(nominal);
});

it('an export that no Schedule started begins when it begins', () => {
  expect(nominalStartOf(null, NIGHT)).toBe(NIGHT);
});
