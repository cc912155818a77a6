import type { Meter, MetricKey, MetricLabels } from '../../src/core/metrics.js';

/** Holds measurements back until the run is known to be a short one: otherwise the separate steps measure it again. */
export class HeldMeter implements Meter {
  #held: (() => void)[] | null = [];

  constructor(private readonly meter: Meter) {}

  record(metric: MetricKey, value: number, labels: MetricLabels): void {
    const record = (): void => this.meter.record(metric, value, labels);
    if (this.#held === null) record();
    else this.#held.push(record);
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const record of held) record();
  }
}
