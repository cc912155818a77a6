import { scheduleId } from '../../core/contract/index.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import {
  applySchedule,
  deleteSchedule,
  describeSchedule,
  pauseSchedule,
  resumeSchedule,
  triggerSchedule,
} from '../../temporal/schedule/schedule.js';
import { nextSkippedNight } from '../../temporal/schedule/skipped-night.js';
import { printEnded } from '../shared/connection-lines.js';
import { toUserError, withTemporal } from '../shared/context.js';
import { eachConnection } from '../shared/each-connection.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { isSeveral, type SeveralOptions } from '../shared/options.js';
import { output, printJson } from '../shared/output.js';
import { chooseConnections, readSettings } from '../shared/settings.js';
import { checkWorkers, differenceText } from '../shared/worker-config.js';
import { appliedLines, describedLines, nextText, skippedNightLine } from './schedule-lines.js';

export interface ScheduleOptions extends SeveralOptions {
  readonly json?: boolean;
  /** Reason, shown with the Schedule. */
  readonly note?: string;
}

export type ScheduleAction = 'apply' | 'describe' | 'trigger' | 'pause' | 'resume' | 'delete';

/** `worktrack schedule …`: the nightly Schedules of connections. */
export async function runSchedule(action: ScheduleAction, options: ScheduleOptions): Promise<ExitCode> {
  const settings = readSettings(options);
  const chosen = chooseConnections(settings, options);
  return withTemporal(options, async (temporal) => {
    const differences = DEPENDS_ON_WORKERS.includes(action)
      ? (await checkWorkers(temporal, chosen, options)).differences
      : [];
    const act = async (connection: ConnectionSettings): Promise<ScheduleResult> => {
      const { warnings = [], ...result } = await actions[action](temporal, connection, options);
      const found = differences
        .filter((one) => one.connection === connection.name)
        .map((one) => `warning: ${differenceText(one, { source: settings.source, now: Date.now() })}`);
      return { ...result, warnings: [...warnings, ...found] };
    };
    if (!isSeveral(options)) {
      const { value, lines, warnings = [] } = await act(chosen[0]!);
      if (options.json === true) printJson(value);
      else for (const line of lines) output.out(line);
      for (const warning of warnings) output.note(warning);
      return EXIT.done;
    }
    const actWithReason = (connection: ConnectionSettings): Promise<ScheduleResult> =>
      act(connection).catch((error: unknown) => {
        throw toUserError(error, temporal);
      });
    return printEnded(await eachConnection(chosen, actWithReason), options, {
      summary: ({ state, detail, lines, warnings = [] }) => ({
        ...{ code: EXIT.done, problem: false, state, detail },
        lines,
        notes: warnings,
      }),
      json: ({ value }) => value,
    });
  });
}

/** The result of an action on one Schedule. */
interface ScheduleResult {
  /** For `--json`. */
  readonly value: object;
  readonly lines: readonly string[];
  readonly state: string;
  /** The most important fact, for one line. */
  readonly detail: string;
  readonly warnings?: readonly string[];
}

/** Actions whose runs use the workers' configuration. */
const DEPENDS_ON_WORKERS: readonly ScheduleAction[] = ['apply', 'describe', 'trigger', 'resume'];

type Action = (
  temporal: TemporalClient,
  connection: ConnectionSettings,
  options: ScheduleOptions,
) => Promise<ScheduleResult>;

const actions: Readonly<Record<ScheduleAction, Action>> = {
  async apply(temporal, connection, { taskQueue }) {
    const applied = await applySchedule(temporal, connection, taskQueue);
    const skipped = nextSkippedNight(connection.schedule, Date.now());
    return {
      value: applied,
      lines: appliedLines(applied),
      state: applied.outcome,
      detail: nextText(applied.nextRuns),
      ...(skipped === null ? {} : { warnings: [skippedNightLine(connection.schedule, skipped)] }),
    };
  },
  async describe(temporal, { name }) {
    const described = await describeSchedule(temporal, name);
    const { paused, note, nextRuns } = described;
    return {
      value: described,
      lines: describedLines(described),
      state: paused ? 'paused' : 'active',
      detail: paused ? (note ?? '') : nextText(nextRuns),
    };
  },
  async trigger(temporal, { name }) {
    await triggerSchedule(temporal, name);
    return done(name, 'triggered', 'triggered. If a run is in progress, no second one starts.');
  },
  async pause(temporal, { name }, { note }) {
    await pauseSchedule(temporal, name, note);
    return done(name, 'paused', 'paused. Resume it with: worktrack schedule resume');
  },
  async resume(temporal, { name }, { note }) {
    await resumeSchedule(temporal, name, note);
    return done(name, 'resumed', 'resumed');
  },
  async delete(temporal, { name }) {
    await deleteSchedule(temporal, name);
    return done(name, 'deleted', 'deleted. A run in progress continues, and published data stays.');
  },
};

function done(connection: string, outcome: string, text: string): ScheduleResult {
  const id = scheduleId(connection);
  const lines = [`Schedule ${id}: ${text}`];
  return { value: { scheduleId: id, outcome }, lines, state: outcome, detail: id };
}
