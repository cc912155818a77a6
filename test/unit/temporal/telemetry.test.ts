import { Runtime } from '@temporalio/worker';
import { describe, expect, it, vi } from 'vitest';
import { METRICS } from '../../../src/core/metrics.js';
import {
  exportsMetrics,
  prometheusMetrics,
  runtimeLogger,
  runtimeMeter,
} from '../../../src/temporal/worker/telemetry.js';

describe('a runtime that exports no metrics', () => {
  it('accepts metrics, without effect', () => {
    expect(exportsMetrics()).toBe(false);
    const meter = runtimeMeter();
    for (const key of Object.keys(METRICS) as (keyof typeof METRICS)[])
      meter.record(key, 1, { connection: 'acme', resource: 'tasks' });
  });

  it('logs the warnings of the stores', () => {
    // Another file in this process may have installed the runtime.
    const warn = vi.spyOn(Runtime.instance().logger, 'warn').mockReturnValue(undefined);
    runtimeLogger.warn('the store ignores conditions', { bucket: 'lake' });
    expect(warn).toHaveBeenCalledWith('the store ignores conditions', { bucket: 'lake' });
    warn.mockRestore();
  });
});

describe('the metrics', () => {
  it('have distinct names with units, by the conventions of Prometheus', () => {
    const all = Object.values(METRICS);
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
    for (const { name, kind } of all) {
      expect(name).toMatch(/^worktrack_[a-z_]+$/);
      expect(name.endsWith('_total'), name).toBe(kind === 'counter');
    }
  });

  it('have at most 66 series for a connection with four resources, whatever happens', () => {
    const outcomesOf = (description: string): number => {
      const [, list = ''] = /outcome: (.*)$/.exec(description) ?? [];
      return list.split(', ').length;
    };
    const series = Object.values(METRICS).map(({ per, description }) =>
      per === 'worker' ? 0 : outcomesOf(description) * (per === 'resource' ? 4 : 1),
    );
    expect(series.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(66);
    expect(prometheusMetrics('127.0.0.1:1')).not.toHaveProperty('prometheus.histogramBucketOverrides');
  });
});
