import { isSchemaChange } from '../../lake/rows/schema.js';
import { toUtcSeconds } from '../../lake/run/watermark.js';
import type { NextScheduled } from '../../temporal/schedule/schedule.js';
import type { ResourceStatus } from '../../temporal/status/status.js';
import { age, count, table } from '../shared/text.js';

export interface ConnectionStatus {
  readonly name: string;
  readonly resources: readonly ResourceStatus[];
  /** `null` if Temporal does not answer. */
  readonly schedule: NextScheduled | null;
}

/** The object that `status --json` prints (docs/reference/commands.md). */
export function statusJson(connections: readonly ConnectionStatus[]): object {
  return {
    connections: connections.map(({ name, resources }) => ({
      name,
      resources: resources.map(({ name: resource, checkpoint, rows, lastRun, warnings, pageSize }) => ({
        name: resource,
        checkpoint,
        rows,
        lastRun,
        warnings,
        pageSize,
      })),
    })),
  };
}

const HEADER = ['RESOURCE', 'ROWS', 'CHECKPOINT', 'LAST RUN', 'OUTCOME', 'SNAPSHOT', 'NOW'];

/** A table per connection, with errors and warnings below it. @param now milliseconds since 1970 */
export function statusLines(connections: readonly ConnectionStatus[], now: number): string[] {
  return connections.flatMap(({ name, resources, schedule }, i) => {
    const lines = table([HEADER, ...resources.map((resource) => cells(resource, now))], [1]);
    const notes = resources.flatMap(({ name: resource, warnings, error, pageSize }) => [
      ...(error === null ? [] : [`  ${resource}: ${error.message}`]),
      ...warnings.map((warning) => `  ${labelled(resource, warning)}`),
      ...(pageSize === null
        ? []
        : [
            `  ${resource}: pages of ${count(pageSize.learned)} rows, because the service rejects the configured ` +
              `${count(pageSize.configured)}; larger pages are tried from time to time`,
          ]),
    ]);
    const unanswered = resources
      .filter(({ from }) => from === 'latest.json')
      .map((resource) => resource.name);
    const source =
      unanswered.length === 0
        ? []
        : [`  The mirrors of ${unanswered.join(', ')} do not answer. The data comes from latest.json.`];
    return [...(i === 0 ? [] : ['']), name, ...lines, ...notes, ...source, ...scheduleLine(schedule, now)];
  });
}

/** Labels schema changes differently from other warnings. */
function labelled(resource: string, warning: string): string {
  return `${isSchemaChange(warning) ? 'schema change' : 'warning'}: ${resource}: ${warning}`;
}

function scheduleLine(schedule: NextScheduled | null, now: number): string[] {
  switch (schedule?.state) {
    case 'due': {
      const at = schedule.at.getTime();
      return [`  next scheduled run: ${toUtcSeconds(at)}, in ${age(at - now)}`];
    }
    case 'paused': {
      const why = schedule.note === null ? '' : ` (${schedule.note})`;
      return [`  the schedule is paused${why}; resume it with \`worktrack schedule resume\``];
    }
    case 'none':
      return ['  no schedule; create one with `worktrack schedule apply`'];
    default:
      return [];
  }
}

function cells(
  { name, rows, checkpoint, lastRun, snapshotAt, active }: ResourceStatus,
  now: number,
): string[] {
  return [
    name,
    rows === null ? '-' : count(rows),
    checkpoint?.updatedSince ?? 'none yet',
    lastRun?.runId ?? '-',
    lastRun?.outcome ?? 'never run',
    snapshotAt === null ? '-' : `${age(now - Date.parse(snapshotAt))} ago`,
    active === null ? 'idle' : `${active.phase} (${count(active.rows)} rows)`,
  ];
}
