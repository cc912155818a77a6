import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createProgram } from '../../../src/cli/program.js';
import { parseDuration } from '../../../src/core/duration.js';
import { METRICS } from '../../../src/core/metrics.js';
import { findPromtool } from '../../support/promtool.js';

const ROOT = resolve(import.meta.dirname, '../../..');
const ASSETS = join(ROOT, 'src/assets');
const ALERTS = join(ASSETS, 'prometheus-alerts.yaml');
const LABELS = [
  'connection',
  'resource',
  'outcome',
  'le',
  'version',
  'node_version',
  'namespace',
  'instance',
];
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

/** A case of `promtool test rules`. */
interface AlertCase {
  readonly alertname: string;
  readonly exp_alerts: readonly { readonly exp_annotations: Rule['annotations'] }[];
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
const CASES = join(import.meta.dirname, 'alerts.test.yaml');
const ALERT_CASES = (
  parse(readFileSync(CASES, 'utf8')) as { tests: { alert_rule_test: AlertCase[] }[] }
).tests.flatMap((test) => test.alert_rule_test);
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
const dashboard = JSON.parse(readFileSync(join(ASSETS, 'grafana-dashboard.json'), 'utf8')) as {
  panels: Panel[];
  templating: { list: { name: string; definition?: string }[] };
};

const SERIES: readonly string[] = Object.values(METRICS).map(({ name }) => name);
/** Metrics without the label `resource`. */
const PER_CONNECTION = Object.values(METRICS).filter(({ per }) => per === 'connection');

function checkExpression(expr: string): void {
  const names = expr.match(/\bworktrack_\w+/g) ?? [];
  expect(names, expr).not.toEqual([]);
  for (const name of names) expect(SERIES, expr).toContain(name);
  for (const [, label] of expr.matchAll(/[{,]\s*(\w+)\s*=/g)) expect(LABELS, expr).toContain(label);
  for (const [, list] of expr.matchAll(/\bby \(([^)]*)\)/g))
    for (const label of list!.split(', ')) expect(LABELS, expr).toContain(label);
  for (const { name } of PER_CONNECTION) {
    const selector = new RegExp(`${name}\\{[^}]*resource`);
    expect(expr).not.toMatch(selector);
    if (expr.includes(name)) expect(expr).not.toMatch(/by \([^)]*resource/);
  }
  for (const [, words] of expr.matchAll(/outcome=~?"([^"]*)"/g))
    for (const word of words!.split('|')) expect(OUTCOMES, expr).toContain(word);
}

describe('the alerts', () => {
  it('use only metrics that exist, and have a summary and a description', () => {
    expect(rules.map(({ alert }) => alert)).toEqual([
      'WorktrackDataTooOld',
      'WorktrackRunRefused',
      'WorktrackRunFailed',
      'WorktrackThrottled',
      'WorktrackNoWorker',
      'WorktrackTemporalDisconnected',
      'WorktrackRunRetrying',
      'WorktrackNeverPublished',
      'WorktrackRowsNotWritten',
      'WorktrackWriteBackOpen',
    ]);
    for (const { expr, annotations } of rules) {
      checkExpression(expr);
      expect(annotations).toEqual({
        summary: expect.stringMatching(/\w/),
        description: expect.stringMatching(/\w.*\.$/),
      });
    }
  });

  it.each(rules)(
    'have a promtool case that fires, with the current texts: $alert',
    ({ alert, annotations }) => {
      const cases = ALERT_CASES.filter(({ alertname }) => alertname === alert);
      expect(cases.some(({ exp_alerts }) => exp_alerts.length === 0)).toBe(true);
      const fired = cases.flatMap(({ exp_alerts }) => exp_alerts);
      expect(fired).not.toEqual([]);
      const summary = annotations
        .summary!.split(/\{\{.*?\}\}/)
        .map(escaped)
        .join('.+');
      for (const { exp_annotations } of fired) {
        expect(exp_annotations.description).toBe(annotations.description);
        expect(exp_annotations.summary).toMatch(new RegExp(`^${summary}$`));
      }
    },
  );

  const promtool = findPromtool() ?? '';
  const found = promtool !== '';
  it.runIf(found)('are valid rules of Prometheus (skipped without promtool or PROMTOOL)', () => {
    const checked = spawnSync(promtool, ['check', 'rules', ALERTS], { encoding: 'utf8' });
    expect(checked.stderr).toBe('');
    expect(checked.stdout).toContain(`SUCCESS: ${rules.length} rules found`);
  });
  it.runIf(found)('fire only when they should (skipped without promtool or PROMTOOL)', () => {
    const checked = spawnSync(promtool, ['test', 'rules', CASES], { encoding: 'utf8' });
    expect(`${checked.stdout}${checked.stderr}`).toContain('SUCCESS');
    expect(checked.status).toBe(0);
    // promtool evaluates two days, minute by minute.
  });
});

describe('the dashboard', () => {
  it('uses only metrics that exist, and shows each of them', () => {
    const exprs = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    for (const expr of exprs) checkExpression(expr);
    for (const { name } of Object.values(METRICS)) expect(exprs.join(' ')).toContain(name);
    for (const { definition } of dashboard.templating.list)
      if (definition !== undefined) checkExpression(definition.replace(/, \w+\)$/, ')'));
  });

  it('has panels with titles, distinct ids and distinct positions', () => {
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const taken = new Set<string>();
    for (const { title, gridPos } of dashboard.panels) {
      expect(title).toMatch(/\w/);
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

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

/** Long options of `worktrack worker`. */
const OPTIONS = createProgram(() => {})
  .commands.find((command) => command.name() === 'worker')!
  .options.map(({ long }) => long);

/** The longest that a worker takes to save its positions (src/temporal/worker/plugin.ts). */
const GRACE = /SHUTDOWN_GRACE = '(\d+) seconds'/.exec(read('src/temporal/worker/plugin.ts'))![1];

describe('the Dockerfile', () => {
  const text = read('Dockerfile').replaceAll('\\\n', ' ');
  const lines = text.split('\n').filter((line) => /^[A-Z]/.test(line));
  const of = (word: string): string[] => lines.filter((line) => line.startsWith(`${word} `));

  it('copies files that exist and that .dockerignore does not exclude', () => {
    const copied = of('COPY').flatMap((line) => {
      const words = line.split(/\s+/).slice(1);
      return words[0]!.startsWith('--from') ? [] : words.filter((one) => !one.startsWith('--')).slice(0, -1);
    });
    expect(copied).toContain('src');
    expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    const allowed = read('.dockerignore').split('\n');
    expect(copied.filter((path) => !allowed.includes(`!${path.replace(/^\.\//, '')}`))).toEqual([]);
  });

  it('installs from the lock file, and builds and runs the scripts in package.json', () => {
    const { scripts, bin } = JSON.parse(read('package.json')) as {
      scripts: Record<string, string>;
      bin: { worktrack: string };
    };
    expect(of('RUN')).toContain('RUN npm ci --ignore-scripts');
    expect(of('RUN')).toContain('RUN npm run build');
    expect(scripts.build).toContain('test/support/build.mjs');
    expect(of('ENTRYPOINT')).toEqual([`ENTRYPOINT ["node", "/app/${bin.worktrack}"]`]);
  });

  it('makes every file readable for any user, whatever the checkout allows', () => {
    const copied = of('COPY').slice(of('COPY').findIndex((line) => line.includes('--from=build')));
    const built = copied.filter((line) => line.includes('--from=build'));
    const readable = of('RUN')
      .find((line) => line.startsWith('RUN chmod -R a+rX '))!
      .split(' ');
    for (const line of built) expect(readable).toContain(/\/app\/(\S+)/.exec(line)![1]);
    for (const line of copied.filter((one) => !built.includes(one))) expect(line).toContain('--chmod=0644');
    expect(text).not.toMatch(/\bHOME=|\/root\b|\/home\//);
  });

  it('runs a worker as an unprivileged user, lets signals reach it, and checks its health at its health address', () => {
    expect(of('USER')).toEqual(['USER 1000']);
    expect(of('STOPSIGNAL')).toEqual(['STOPSIGNAL SIGTERM']);
    const words = JSON.parse(of('CMD').at(-1)!.slice(4)) as string[];
    expect(words[0]).toBe('worker');
    for (const word of words.filter((one) => one.startsWith('--'))) expect(OPTIONS).toContain(word);
    expect(of('HEALTHCHECK')[0]).toContain(`http://${words[words.indexOf('--health') + 1]}/healthz`);
  });
});

describe('the systemd unit', () => {
  const text = read('src/assets/worktrack-worker.service');
  const value = (name: string): string | undefined => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1];

  it('gives a worker more time to stop than its own grace period', () => {
    expect(parseDuration(value('TimeoutStopSec')!)).toBeGreaterThan(Number(GRACE) * 1000);
    expect(value('KillSignal')).toBe('SIGTERM');
  });

  it('starts a worker with options that exist, and does not restart it after a configuration error', () => {
    const words = value('ExecStart')!.split(' ');
    expect(words.slice(1, 3)).toEqual(['worktrack', 'worker']);
    for (const word of words.filter((one) => one.startsWith('--'))) expect(OPTIONS).toContain(word);
    expect(value('RestartPreventExitStatus')).toBe('2');
    expect(value('EnvironmentFile')).toBe('/etc/worktrack/worker.env');
  });
});
