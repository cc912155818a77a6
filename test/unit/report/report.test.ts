import { describe, expect, it } from 'vitest';
import type { UtcSeconds } from '../../../src/core/brands.js';
import { age } from '../../../src/core/short-text.js';
import { barChart } from '../../../src/report/charts.js';
import { renderReport, resourceReport } from '../../../src/report/index.js';
import { escapeHtml, html } from '../../../src/report/markup.js';
import { length } from '../../../src/report/number-text.js';
import {
  connectionReport,
  counts,
  failedRun,
  HOSTILE,
  MADE_AT,
  pastRun,
  quietNights,
  reportOf,
  runId,
  sampleReport,
} from './fixtures.js';

const at = MADE_AT;

describe('the markup', () => {
  it('escapes every value of a template once', () => {
    const inner = html`<b title="${'"x"'}">${'a & <b>'}</b>`;
    expect(html`<p>${inner}${[inner]}</p>`.text).toBe(
      `<p>${'<b title="&quot;x&quot;">a &amp; &lt;b&gt;</b>'.repeat(2)}</p>`,
    );
  });

  it('shows control characters, lone surrogates and bidirectional controls as symbols', () => {
    expect(escapeHtml('a\u0000\n\u202eb\u0085\ud800c\u{1f600}')).toBe(
      'a\u2400\u240a\ufffdb\ufffd\ufffdc\u{1f600}',
    );
  });
});

describe('a report', () => {
  const page = renderReport(sampleReport());

  it('does not let a name or warning become markup', () => {
    expect(page).not.toMatch(/<script|<img|onerror=alert\(2\)>"/i);
    expect(page).toContain(escapeHtml(HOSTILE));
    expect(page).not.toContain('\u202e');
    expect(page).not.toContain('\u0000');
  });

  it('loads nothing: it contains only anchors, and its policy forbids the rest', () => {
    expect(
      page.match(/(?:src|href|action|url)\s*[=(]\s*["']?[^"')>]*/gi)!.filter((one) => !one.includes('#r')),
    ).toEqual(
      // The one in a name, which is text.
      page.match(/src=x [^"')>]*/g),
    );
    expect(page).toContain("default-src 'none'");
    expect(page).toContain('name="viewport"');
    expect(page).toContain('prefers-color-scheme:dark');
  });

  it('shows the counts, the next checkpoint and the warnings of the last run', () => {
    for (const text of [
      '1,858,850',
      'changes since 2026-11-20T01:55:00Z',
      '2026-11-21T01:55:00Z',
      '<h3>Gap</h3>',
    ])
      expect(page).toContain(text);
    expect(page).toContain('No run is published yet.');
    expect(page).toContain('tasks/latest.json cannot be read');
    expect(page).toContain('Last 30 runs');
  });

  it('lists a schema change once, under the schema changes', () => {
    const texts = ['schema change: new column "tag" (string)', 'something else'];
    const now = pastRun(0, {
      warnings: texts,
      warningFacts: [{ kind: 'text', text: 'something else' }],
      schemaChanges: [{ name: 'tag', had: null, added: ['string'] }],
    });
    const [last, first] = resourceReport('tasks', [now, pastRun(1)], { at }).runs;
    expect(last).toMatchObject({
      schemaChanges: ['new column "tag" (string)'],
      warnings: ['something else'],
    });
    expect(first!.schemaChanges).toEqual([]);
    // An earlier build has written only texts.
    const { warningFacts: _, schemaChanges: __, ...earlier } = now;
    expect(resourceReport('tasks', [earlier], { at }).runs[0]!.warnings).toEqual(texts);
  });

  it('shows a gap once, apart from the other warnings', () => {
    const gap = { from: '2026-08-01T00:00:00Z' as UtcSeconds, to: '2026-08-23T02:00:00Z' as UtcSeconds };
    const warningFacts = [
      { kind: 'gap', resource: 'tasks', ...gap, target: null },
      { kind: 'text', text: 'gap: of words only' },
    ];
    const [run] = resourceReport('tasks', [pastRun(0, { gap, warningFacts })], { at }).runs;
    expect(run!.warnings).toEqual(['gap: of words only']);
  });

  it('leaves the first load out of the chart of changes', () => {
    const runs = [
      pastRun(0, { counts: counts({ rows: 1_000_002, inserted: 2 }) }),
      pastRun(1, { counts: counts({ rows: 1_000_000, inserted: 1_000_000 }), previousRunId: null }),
    ];
    expect(renderedRuns(runs)).toContain('Changes: at most 2 in a run');
  });

  it('says how many rows new settings have restated, instead of no changes', () => {
    const page = renderedRuns(quietNights(37, (ago) => ({ restated: ago === 0 ? 51 : 0 })));
    expect(page).toContain('No changes in 30 runs. A change of settings restated 51 rows.');
    expect(page).toContain('<span class="dim">restated 51 rows</span>');
    expect(page).toContain('<td>published, restated 51 rows</td>');
    expect(page).toContain('<dt>Restated</dt><dd>51</dd>');
  });

  it('draws no bars for changes if nothing changed', () => {
    const quiet = renderedRuns(quietNights(37));
    expect(quiet).toContain('No changes in 30 runs.');
    expect(quiet).toContain('<span class="dim">no changes</span>');
    expect(quiet).not.toMatch(/class="(?:changes|rows|inserted|updated|deleted)" (?:d|x)=/);
    const once = renderedRuns(quietNights(37, (ago) => ({ updated: ago === 3 ? 2 : 0 })));
    expect(once.match(/<rect class="updated"/g)).toHaveLength(1);
    expect(once.match(/<path class="changes" d="([^"]*)"/)![1]!.match(/M/g)).toHaveLength(1);
  });

  it('gives a change of rows that an axis from zero cannot show as text, and never cuts the axis', () => {
    const grown = (least: number, most: number) =>
      renderedRuns(quietNights(least, (ago) => ({ rows: ago === 0 ? most : least })));
    expect(grown(20_000, 20_003)).toContain('20,003, +3 since 23 Oct.');
    expect(grown(20_000, 19_990)).toContain('19,990, −10 since 23 Oct.');
    expect(grown(20_000, 20_003)).not.toContain('<rect class="rows"');
    const doubled = grown(10_000, 20_000);
    const heights = [...doubled.matchAll(/<rect class="rows"[^>]* height="([\d.]+)"/g)].map(([, h]) =>
      Number(h),
    );
    expect(heights.at(-1)).toBe(2 * heights[0]!);
    expect(doubled).toContain('0 to 20,000');
  });

  it('has the links of the table lead to the sections', () => {
    const targets = [...page.matchAll(/href="#(r\d+)"/g)].map(([, id]) => id);
    expect(targets.length).toBe(10);
    for (const id of targets) expect(page).toContain(`<div id="${id}">`);
  });

  it('lists a run once: as published, or as the first of equal failed runs', () => {
    const unpublished = [failedRun('tasks', 1), failedRun('tasks', 0), failedRun('tasks', 0)];
    const runs = [pastRun(1)];
    const report = resourceReport('tasks', runs, { at, unpublished });
    expect(report.unpublished.map((run) => run.runId)).toEqual([runId(0)]);
  });
});

/** The page of one resource. */
function renderedRuns(runs: Parameters<typeof resourceReport>[1]): string {
  return renderReport(reportOf(connectionReport({ resources: [resourceReport('tasks', runs, { at })] })));
}

describe('a bar chart', () => {
  const heights = (text: string): number[] =>
    [...text.matchAll(/class="(?:rows|inserted|updated)"[^>]*height="([\d.]+)"/g)].map(([, height]) =>
      Number(height),
    );

  it('draws proportional stacked bars with a minimum height', () => {
    const bars = [100, 50, 0.01, 0].map((value) => ({
      title: String(value),
      pieces: [['rows', value] as const],
    }));
    expect(heights(barChart('x', bars).text)).toEqual([72, 36, 1.5]);
    const stacked = {
      title: '',
      pieces: [
        ['inserted', 30],
        ['updated', 10],
      ],
    } as const;
    expect(heights(barChart('x', [stacked]).text)).toEqual([54, 18]);
  });

  it('marks failed and missing runs below the axis, with the reason as a tooltip', () => {
    const bars = (['failed', 'missed'] as const).map((mark) => ({ title: `why ${mark}`, pieces: [], mark }));
    const { text } = barChart('x', bars);
    for (const mark of ['failed', 'missed']) {
      expect(text).toMatch(new RegExp(`<title>why ${mark}</title>.*<rect class="${mark}" x="[^"]*" y="74"`));
    }
  });

  it('draws no bars for no runs', () => {
    for (const bars of [[], [{ title: '', pieces: [] }]]) {
      expect(barChart('x', bars).text).not.toMatch(/NaN|Infinity/);
    }
  });
});

it('formats ages in one unit', () => {
  expect([5_000, 300_000, 14_400_000, 432_000_000].map(age)).toEqual(['5 s', '5 min', '4 h', '5 d']);
});

it('formats durations in suitable units', () => {
  expect([800, 12_000, 185_000, 7_800_000].map(length)).toEqual(['0.8 s', '12 s', '3 min 5 s', '2 h 10 min']);
});
