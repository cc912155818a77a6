import { expect, it } from 'vitest';
import { figureSection } from '../../../src/report/charts.js';

it('charts of one group share a scale, name their sums, and escape names', () => {
  const values = (...hours: number[]) => hours.map((value, at) => ({ label: `2026-11-0${at + 2}`, value }));
  const { text } = figureSection({
    title: 'Hours',
    note: 'From the lake.',
    unit: 'h',
    figures: [
      { name: '<b>Shop', values: values(10, 40) },
      { name: 'Portal', values: values(20, 0) },
    ],
  });
  expect(text).toContain('All charts go from 0 to 40 h.');
  expect(text).toContain('&lt;b&gt;Shop');
  expect(text).toContain('<span>50 h</span>');
  // 20 of 40 is half of the height of 72.
  expect(text).toMatch(/class="rows"[^>]*height="36"/);
  expect(text).toMatch(/class="rows"[^>]*height="72"/);
});
