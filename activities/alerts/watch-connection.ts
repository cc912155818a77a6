import { observeAge, observeSchedule, WHOLE_CONNECTION } from '../../src/core/alerts/index.js';
import type { Observation } from '../../src/core/contract/alerts.js';
import type { Activities } from '../../src/core/contract/index.js';
import { HOUR_MS } from '../../src/core/duration.js';
import { readPointer } from '../../src/lake/documents/pointer.js';
import { temporalClock } from '../shared/activity-context.js';
import type { ActivityDeps } from '../shared/deps.js';
import { signalAlerts } from './report-alerts.js';
import { maxAgesOf, scheduleFacts } from './schedule-facts.js';

/**
 * Looks whether the data of a connection have become stale, and whether its Schedule is behind, and reports it to the
 * workflow that sends alerts. `latest.json` has the checkpoint, whoever published it.
 */
export function createWatch(deps: ActivityDeps): Activities['worktrack.watch'] {
  return async ({ connection, always }) => {
    const { settings, store } = deps.connection(connection);
    const now = temporalClock()();
    const facts = await scheduleFacts(settings, now);
    const maxAges = maxAgesOf(settings, facts);
    const createdAt = facts.state === 'active' ? facts.createdAt : null;
    const observations: Observation[] = [];
    const checks: number[] = [];
    const published: number[] = [];
    for (const { name } of settings.resources) {
      const pointer = await readPointer(store, name);
      if (pointer !== null) published.push(Date.parse(pointer.publishedAt));
      // A resource that was never published is as old as its Schedule.
      const dataFrom = pointer === null ? createdAt : Date.parse(pointer.checkpoint.updatedSince);
      if (dataFrom === null || maxAges.size === 0) {
        observations.push({ resource: name, covers: ['stale'], problems: [], quietly: true });
        continue;
      }
      const { observation, checkAt } = observeAge(name, { now, dataFrom, maxAges });
      observations.push(observation);
      if (checkAt !== null) checks.push(checkAt);
    }
    if (facts.state === 'active') {
      const started = [...(facts.startedAt === null ? [] : [facts.startedAt]), ...published];
      const observation = observeSchedule(
        facts.dueAt,
        started.length === 0 ? null : Math.max(...started),
        now,
      );
      observations.push(observation);
      // Whatever becomes of the watcher, the end is noticed.
      if (observation.problems.length > 0) checks.push(now + HOUR_MS);
    } else if (facts.state !== 'unknown')
      observations.push({ resource: WHOLE_CONNECTION, covers: ['behind'], problems: [], quietly: true });
    const isPaused = facts.state === 'none' || facts.state === 'paused';
    // The end of a problem is found by a published run, or by a check of the workflow that sends the alerts.
    if (always !== true && !isPaused && observations.every(({ problems }) => problems.length === 0)) return;
    await signalAlerts(settings, {
      observations,
      checkAt: checks.length === 0 ? null : Math.min(...checks),
      ...(isPaused ? { isPaused } : {}),
    });
  };
}
