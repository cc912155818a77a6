import { selectConnection } from '../../config/index.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import {
  applySchedule,
  deleteSchedule,
  describeSchedule,
  pauseSchedule,
  resumeSchedule,
  scheduleId,
  triggerSchedule,
} from '../../temporal/schedule/schedule.js';
import { nextSkippedNight } from '../../temporal/schedule/skipped-night.js';
import { withTemporal } from '../shared/context.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import type { GlobalOptions } from '../shared/options.js';
import { output, printJson } from '../shared/output.js';
import { readSettings } from '../shared/settings.js';
import { noteDifferences } from '../shared/worker-config.js';
import { appliedLines, describedLines, skippedNightLine } from './schedule-lines.js';

export interface ScheduleOptions extends GlobalOptions {
  readonly json?: boolean;
  /** Reason, shown with the Schedule. */
  readonly note?: string;
}

export type ScheduleAction = 'apply' | 'describe' | 'trigger' | 'pause' | 'resume' | 'delete';

/** `worktrack schedule …`: the nightly Schedule of a connection. */
export async function runSchedule(action: ScheduleAction, options: ScheduleOptions): Promise<ExitCode> {
  const settings = readSettings(options);
  const connection = selectConnection(settings, options.connection);
  await withTemporal(options, async (temporal) => {
    await actions[action](temporal, connection, options);
    if (DEPENDS_ON_WORKERS.includes(action))
      await noteDifferences(temporal, connection, options, settings.source);
  });
  return EXIT.done;
}

/** Actions whose runs use the workers' configuration. */
const DEPENDS_ON_WORKERS: readonly ScheduleAction[] = ['apply', 'describe', 'trigger', 'resume'];

type Action = (
  temporal: TemporalClient,
  connection: ConnectionSettings,
  options: ScheduleOptions,
) => Promise<void>;

const actions: Readonly<Record<ScheduleAction, Action>> = {
  async apply(temporal, connection, { taskQueue, json }) {
    const applied = await applySchedule(temporal, connection, taskQueue);
    print(json, applied, appliedLines(applied));
    const skipped = nextSkippedNight(connection.schedule, Date.now());
    if (skipped !== null) output.note(skippedNightLine(connection.schedule, skipped));
  },
  async describe(temporal, { name }, { json }) {
    const described = await describeSchedule(temporal, name);
    print(json, described, describedLines(described));
  },
  async trigger(temporal, { name }, { json }) {
    await triggerSchedule(temporal, name);
    done(json, name, 'triggered', 'triggered. If a run is in progress, no second one starts.');
  },
  async pause(temporal, { name }, { json, note }) {
    await pauseSchedule(temporal, name, note);
    done(json, name, 'paused', 'paused. Resume it with: worktrack schedule resume');
  },
  async resume(temporal, { name }, { json, note }) {
    await resumeSchedule(temporal, name, note);
    done(json, name, 'resumed', 'resumed');
  },
  async delete(temporal, { name }, { json }) {
    await deleteSchedule(temporal, name);
    done(json, name, 'deleted', 'deleted. A run in progress continues, and published data stays.');
  },
};

function done(json: boolean | undefined, connection: string, outcome: string, text: string): void {
  const id = scheduleId(connection);
  print(json, { scheduleId: id, outcome }, [`Schedule ${id}: ${text}`]);
}

function print(json: boolean | undefined, value: object, lines: readonly string[]): void {
  if (json === true) printJson(value);
  else for (const line of lines) output.out(line);
}
