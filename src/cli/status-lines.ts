import type { ResourceStatus } from '../temporal/status.js';
import { age, count, table } from './text.js';

export interface ConnectionStatus {
  readonly name: string;
  readonly resources: readonly ResourceStatus[];
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

const HEADER = ['RESOURCE', 'ROWS', 'CHECKPOINT', 'LAST RUN', 'OUTCOME', 'PUBLISHED', 'NOW'];

/** A table for each connection, with what deserves attention below it. @param now milliseconds since 1970 */
export function statusLines(connections: readonly ConnectionStatus[], now: number): string[] {
  return connections.flatMap(({ name, resources }, i) => {
    const lines = table([HEADER, ...resources.map((resource) => cells(resource, now))], [1]);
    const notes = resources.flatMap(({ name: resource, warnings, error }) => [
      ...(error === null ? [] : [`  ${resource}: ${error.message}`]),
      ...warnings.map((warning) => `  warning: ${resource}: ${warning}`),
    ]);
    const unanswered = resources
      .filter(({ from }) => from === 'latest.json')
      .map((resource) => resource.name);
    const source =
      unanswered.length === 0 ? [] : [`  No mirror answers for ${unanswered.join(', ')}: from latest.json.`];
    return [...(i === 0 ? [] : ['']), name, ...lines, ...notes, ...source];
  });
}

function cells({ name, rows, checkpoint, lastRun, active }: ResourceStatus, now: number): string[] {
  const published = lastRun?.publishedAt ?? null;
  return [
    name,
    rows === null ? '-' : count(rows),
    checkpoint?.updatedSince ?? 'none yet',
    lastRun?.runId ?? '-',
    lastRun?.outcome ?? 'never run',
    published === null ? '-' : `${age(now - Date.parse(published))} ago`,
    active === null ? 'idle' : `${active.phase} (${count(active.rows)} rows)`,
  ];
}
