import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { METRICS } from '../../../src/core/metrics.js';

const ASSETS = join(import.meta.dirname, '../../../src/assets');
const ALERTS = join(ASSETS, 'prometheus-alerts.yaml');
const LABELS = ['connection', 'resource', 'outcome', 'le'];
/** Words that the descriptions of the metrics and the workflows give as outcomes. */
const OUTCOMES = Object.values(METRICS).flatMap(({ description }) => {
  const [, list = ''] = /outcome: (.*)$/.exec(description) ?? [];
  return list.split(', ').filter((word) => word !== '');
});

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly { readonly expr: string }[];
}

const rules = (parse(readFileSync(ALERTS, 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);
const dashboard = JSON.parse(readFileSync(join(ASSETS, 'grafana-dashboard.json'), 'utf8')) as {
  panels: Panel[];
  templating: { list: { name: string; definition?: string }[] };
};

/** Every series that a histogram of ours gives, and the others as they are. */
const SERIES = Object.values(METRICS).flatMap(({ name, kind }) =>
  kind === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
);

function checkExpression(expr: string): void {
  const names = expr.match(/\bworktrack_\w+/g) ?? [];
  expect(names, expr).not.toEqual([]);
  for (const name of names) expect(SERIES, expr).toContain(name);
  for (const [, label] of expr.matchAll(/[{,]\s*(\w+)\s*=/g)) expect(LABELS, expr).toContain(label);
  for (const [, list] of expr.matchAll(/\bby \(([^)]*)\)/g))
    for (const label of list!.split(', ')) expect(LABELS, expr).toContain(label);
  for (const [, words] of expr.matchAll(/outcome=~?"([^"]*)"/g))
    for (const word of words!.split('|')) expect(OUTCOMES, expr).toContain(word);
}

describe('the alerts', () => {
  it('ask only for what is measured, and say what to do', () => {
    expect(rules.map(({ alert }) => alert)).toEqual(
      expect.arrayContaining(['WorktrackDataTooOld', 'WorktrackRunFailed', 'WorktrackRunRefused']),
    );
    for (const { expr, annotations } of rules) {
      checkExpression(expr);
      expect(annotations.summary).toBeTruthy();
      expect(annotations.description).toBeTruthy();
    }
  });

  const promtool = process.env.PROMTOOL ?? 'promtool';
  const found = spawnSync(promtool, ['--version']).status === 0;
  it.runIf(found || process.env.PROMTOOL !== undefined)('are taken by Prometheus', () => {
    const checked = spawnSync(promtool, ['check', 'rules', ALERTS], { encoding: 'utf8' });
    expect(checked.stderr).toBe('');
    expect(checked.stdout).toContain(`SUCCESS: ${rules.length} rules found`);
  });
  it.runIf(found || process.env.PROMTOOL !== undefined)(
    'go off when they should, and when all is well they do not',
    () => {
      const checked = spawnSync(promtool, ['test', 'rules', join(import.meta.dirname, 'alerts.test.yaml')], {
        encoding: 'utf8',
      });
      expect(`${checked.stdout}${checked.stderr}`).toContain('SUCCESS');
      expect(checked.status).toBe(0);
    },
  );
  it.runIf(!found && process.env.PROMTOOL === undefined)(
    'are YAML (no promtool found: set PROMTOOL to have them checked)',
    () => {
      expect(rules.length).toBeGreaterThan(0);
    },
  );
});

describe('the dashboard', () => {
  it('asks only for what is measured, and shows each metric', () => {
    const exprs = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    for (const expr of exprs) checkExpression(expr);
    for (const { name } of Object.values(METRICS)) expect(exprs.join(' ')).toContain(name);
    for (const { definition } of dashboard.templating.list)
      if (definition !== undefined) checkExpression(definition.replace(/, \w+\)$/, ')'));
  });

  it('has panels with titles, each with a place and a number of its own', () => {
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const taken = new Set<string>();
    for (const { title, gridPos } of dashboard.panels) {
      expect(title).toBeTruthy();
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x},${y}`), title).toBe(false);
          taken.add(`${x},${y}`);
        }
      }
    }
  });
});
