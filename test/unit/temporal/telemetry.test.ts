import { DefaultLogger, type LogEntry, Runtime } from '@temporalio/worker';
import { describe, expect, it } from 'vitest';
import { METRICS } from '../../../src/core/metrics.js';
import {
  exportsMetrics,
  prometheusMetrics,
  runtimeLogger,
  runtimeMeter,
} from '../../../src/temporal/worker/telemetry.js';

describe('a runtime that exports no metrics', () => {
  const entries: LogEntry[] = [];
  Runtime.install({ logger: new DefaultLogger('INFO', (entry) => entries.push(entry)) });

  it('accepts metrics, without effect', () => {
    expect(exportsMetrics()).toBe(false);
    const meter = runtimeMeter();
    for (const key of Object.keys(METRICS) as (keyof typeof METRICS)[])
      meter.record(key, 1, { connection: 'acme', resource: 'tasks' });
  });

  it('logs the warnings of the stores', () => {
    runtimeLogger.warn('the store ignores conditions', { bucket: 'lake' });
    expect(entries.at(-1)).toMatchObject({
      level: 'WARN',
      message: 'the store ignores conditions',
      meta: { bucket: 'lake' },
    });
  });
});

describe('the metrics', () => {
  it('have distinct names with units, by the conventions of Prometheus', () => {
    const all = Object.values(METRICS);
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
    for (const { name, kind } of all) {
      expect(name).toMatch(/^worktrack_[a-z_]+$/);
      expect(name.endsWith('_total'), name).toBe(kind === 'counter');
      if (kind === 'histogram') expect(name).toMatch(/_seconds$/);
    }
  });

  it('have buckets that reach from a small merge to a long first load', () => {
    const { prometheus } = prometheusMetrics('127.0.0.1:1') as {
      prometheus: { histogramBucketOverrides: Record<string, number[]> };
    };
    const overrides = prometheus.histogramBucketOverrides;
    expect(Object.keys(overrides)).toContain('worktrack_run_duration_seconds');
    for (const bounds of Object.values(overrides)) {
      expect(bounds).toEqual([...bounds].sort((a, b) => a - b));
      expect(bounds.at(-1)).toBe(6 * 3600);
    }
  });
});
