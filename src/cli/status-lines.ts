import { isSchemaChange } from '../lake/schema.js';
import type { NextScheduled } from '../temporal/schedule.js';
import type { ResourceStatus } from '../temporal/status.js';
import { age, count, table } from './text.js';

export interface ConnectionStatus {
  readonly name: string;
  readonly resources: readonly ResourceStatus[];
  /** `null` where Temporal does not say. */
  readonly schedule: NextScheduled | null;
}

/** The object that `status --json` prints (DESIGN 5). */
export function statusJson(connections: readonly ConnectionStatus[]): object {
  return {
    connections: connections.map(({ name, resources }) => ({
      name,
      resources: resources.map(({ name: resource, checkpoint, rows, lastRun, warnings }) => ({
        name: resource,
        checkpoint,
        rows,
        lastRun,
        warnings,
      })),
    })),
  };
}

const HEADER = ['RESOURCE', 'ROWS', 'CHECKPOINT', 'LAST RUN', 'OUTCOME', 'SNAPSHOT', 'NOW'];

/** A table for each connection, with what deserves attention below it. @param now milliseconds since 1970 */
export function statusLines(connections: readonly ConnectionStatus[], now: number): string[] {
  return connections.flatMap(({ name, resources, schedule }, i) => {
    const lines = table([HEADER, ...resources.map((resource) => cells(resource, now))], [1]);
    const notes = resources.flatMap(({ name: resource, warnings, error }) => [
      ...(error === null ? [] : [`  ${resource}: ${error.message}`]),
      ...warnings.map((warning) => `  ${labelled(resource, warning)}`),
    ]);
    const unanswered = resources
      .filter(({ from }) => from === 'latest.json')
      .map((resource) => resource.name);
    const source =
      unanswered.length === 0 ? [] : [`  No mirror answers for ${unanswered.join(', ')}: from latest.json.`];
    return [...(i === 0 ? [] : ['']), name, ...lines, ...notes, ...source, ...scheduleLine(schedule, now)];
  });
}

/** What changes the columns stands out from other warnings; a gap says so itself. */
function labelled(resource: string, warning: string): string {
  return `${isSchemaChange(warning) ? 'schema change' : 'warning'}: ${resource}: ${warning}`;
}

function scheduleLine(schedule: NextScheduled | null, now: number): string[] {
  switch (schedule?.state) {
    case 'due': {
      const at = schedule.at.toISOString().replace(/\.\d+Z$/, 'Z');
      return [`  next scheduled run: ${at}, in ${age(schedule.at.getTime() - now)}`];
    }
    case 'paused': {
      const why = schedule.note === null ? '' : ` (${schedule.note})`;
      return [`  the schedule is paused${why}; \`worktrack schedule resume\` lets it go on`];
    }
    case 'none':
      return ['  no schedule; `worktrack schedule apply` makes one'];
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
