import { REPORTED_RUNS, type ReportedRun, type ResourceReport, type UnpublishedRun } from './model.js';

/** One place on the time axis of a resource's charts: a run, or a time when a run should have been published. */
export type Slot =
  | { readonly kind: 'published'; readonly at: number; readonly run: ReportedRun }
  | { readonly kind: 'failed'; readonly at: number; readonly run: UnpublishedRun }
  | { readonly kind: 'missed'; readonly from: number; readonly to: number };

type RunSlot = Exclude<Slot, { kind: 'missed' }>;

/**
 * The last runs of a resource, oldest first, at most `REPORTED_RUNS`. For every `maxAgeMs` between two runs, and after the
 * last run, there is a slot without a run, so that a mirror that stopped looks different from one without changes, even if
 * Temporal no longer knows its failed runs.
 */
export function timeline({ runs, unpublished, at }: ResourceReport, maxAgeMs: number): readonly Slot[] {
  const ended: RunSlot[] = [
    ...runs.map((run) => ({ kind: 'published' as const, at: run.startedAt, run })),
    ...unpublished
      .filter(({ outcome }) => outcome !== 'running')
      .map((run) => ({ kind: 'failed' as const, at: run.startedAt, run })),
  ];
  // Reversed first, because the sort keeps the order of runs that started in the same second.
  ended.reverse();
  ended.sort((a, b) => a.at - b.at);
  const active = unpublished.find(({ outcome }) => outcome === 'running');
  const until = Math.min(at, active?.startedAt ?? at);
  const slots = ended.flatMap((slot, i) => [slot, ...missed(slot.at, ended[i + 1]?.at ?? until, maxAgeMs)]);
  return slots.slice(-REPORTED_RUNS);
}

function missed(from: number, to: number, maxAgeMs: number): Slot[] {
  const places = Math.min(REPORTED_RUNS, Math.max(0, Math.floor((to - from) / maxAgeMs) || 0));
  return Array.from({ length: places }, () => ({ kind: 'missed', from, to }));
}
