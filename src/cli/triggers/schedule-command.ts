import { DateTime } from 'luxon';
import type { EpochMs } from '../../core/brands.js';
import { DEFAULT_TASK_QUEUE, scheduleId } from '../../core/contract/index.js';
import { DAY_MS } from '../../core/duration.js';
import type { ConnectionSettings, ScheduleSettings } from '../../core/settings.js';
import { shellWord } from '../../core/short-text.js';
import { toUtcSeconds } from '../../core/utc-time.js';
import type { RepeatCall, TemporalClient } from '../../temporal/client/connect.js';
import { grpcMessage, isWithheld } from '../../temporal/client/grpc.js';
import {
  type AppliedSchedule,
  applySchedule,
  type DescribedSchedule,
  deleteSchedule,
  describeSchedule,
  pauseSchedule,
  resumeSchedule,
  triggerSchedule,
} from '../../temporal/schedule/schedule.js';
import { waitingTexts, waitingWork } from '../../temporal/versions/stuck-work.js';
import { EXIT, type ExitCode } from '../shared/choose-exit-code.js';
import type { SeveralOptions } from '../shared/command-options.js';
import { orUserError, reachTemporal, withTemporal } from '../shared/context.js';
import { chooseConnections, onConnections, printEnded, readSettings } from '../shared/each-connection.js';
import { age, output, printJson, table } from '../shared/output.js';
import { checkWorkers, differenceText } from '../shared/worker-config.js';

interface ScheduleOptions extends SeveralOptions {
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
    const waitingOf = action === 'describe' ? await waitingWarnings(temporal, chosen, options) : () => [];
    const act = async (connection: ConnectionSettings, timeoutMs?: number): Promise<ScheduleResult> => {
      const selects = chosen.length > 1 ? ` --connection ${shellWord(connection.name)}` : '';
      const repeat: RepeatCall = (call) => reachTemporal(temporal, call, timeoutMs);
      const acts = () => actions[action](temporal, connection, { ...options, selects, repeat });
      const { warnings = [], ...result } = await orUserError(temporal, acts);
      const found = differences
        .filter((one) => one.connection === connection.name)
        .map((one) => `warning: ${differenceText(one, { source: settings.source, now: Date.now() })}`);
      return { ...result, warnings: [...waitingOf(connection.name), ...warnings, ...found] };
    };
    return onConnections(chosen, act, options, {
      one({ value, lines, warnings = [] }) {
        if (options.json === true) printJson(value);
        else for (const line of lines) output.out(line);
        for (const warning of warnings) output.note(warning);
        return EXIT.done;
      },
      several(ended) {
        const summary = ({ state, detail, lines, warnings: notes = [] }: ScheduleResult) => {
          return { code: EXIT.done, problem: false, state, detail, lines, notes };
        };
        return printEnded(ended, options, summary, ({ value }) => value);
      },
    });
  });
}

/**
 * Reads the runs that wait for builds without workers once for all connections.
 *
 * @returns the warnings about those of a connection
 */
async function waitingWarnings(
  temporal: TemporalClient,
  chosen: readonly ConnectionSettings[],
  { taskQueue = DEFAULT_TASK_QUEUE }: ScheduleOptions,
): Promise<(connection: string) => string[]> {
  const names = chosen.map(({ name }) => name);
  try {
    const waiting = await waitingWork(temporal, taskQueue, names);
    return (connection) =>
      waitingTexts(waiting.get(connection) ?? { first: [], count: 0 }).map(
        ({ message, remedy }) => `Warning: ${message}, so the Schedule starts no other run. ${remedy}`,
      );
  } catch (error) {
    // A server without worker versions has no such list.
    if (!isWithheld(error)) return () => [];
    return () => [
      `Warning: it is not known whether runs wait for builds without workers: ${grpcMessage(error)}`,
    ];
  }
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

interface ActionOptions extends ScheduleOptions {
  /** The option that selects the connection in another command, if there are several. */
  readonly selects: string;
  /** Repeats a call until Temporal answers. */
  readonly repeat: RepeatCall;
}

type Action = (
  temporal: TemporalClient,
  connection: ConnectionSettings,
  options: ActionOptions,
) => Promise<ScheduleResult>;

const actions: Readonly<Record<ScheduleAction, Action>> = {
  async apply(temporal, connection, { taskQueue, selects, repeat }) {
    const applied = await applySchedule(temporal, connection, taskQueue, repeat);
    return {
      value: applied,
      lines: appliedLines(applied, selects),
      state: applied.outcome,
      detail: applied.paused ? pausedText(applied) : nextText(applied.nextRuns),
      warnings: skippedNightWarnings(connection.schedule),
    };
  },
  async describe(temporal, { name }, { repeat }) {
    const described = await repeat(() => describeSchedule(temporal, name));
    const { paused, note, nextRuns } = described;
    return {
      value: described,
      lines: describedLines(described),
      state: paused ? 'paused' : 'active',
      detail: paused ? (note ?? '') : nextText(nextRuns),
    };
  },
  async trigger(temporal, { name }, { repeat }) {
    // A second trigger starts no run while that of the first is in progress.
    await repeat(() => triggerSchedule(temporal, name));
    return done(name, 'triggered', 'triggered. If a run is in progress, no second one starts.');
  },
  async pause(temporal, { name }, { note, selects, repeat }) {
    await repeat(() => pauseSchedule(temporal, name, note));
    return done(name, 'paused', `paused. Resume it with \`worktrack schedule resume${selects}\``);
  },
  async resume(temporal, { name }, { note, repeat }) {
    await repeat(() => resumeSchedule(temporal, name, note));
    return done(name, 'resumed', 'resumed');
  },
  async delete(temporal, { name }, { repeat }) {
    await deleteSchedule(temporal, name, repeat);
    return done(name, 'deleted', 'deleted. A run in progress continues, and published data stays.');
  },
};

function done(connection: string, outcome: string, text: string): ScheduleResult {
  const id = scheduleId(connection);
  const lines = [`Schedule ${id}: ${text}`];
  return { value: { scheduleId: id, outcome }, lines, state: outcome, detail: id };
}

/** The result of `schedule apply`. @param selects the option that selects the connection, if there are several */
export function appliedLines(applied: AppliedSchedule, selects = ''): string[] {
  const { scheduleId, outcome, changes, paused, nextRuns, watcher, audit } = applied;
  return [
    `Schedule ${scheduleId}: ${outcome}`,
    ...table(changes.map(({ setting, before, after }) => [`  ${setting}:`, before, '->', after])),
    ...(paused ? [`  ${pausedText(applied)}; resume it with \`worktrack schedule resume${selects}\``] : []),
    ...nextLine(nextRuns),
    ...(watcher === 'none' ? [] : [`  watcher for alerts: ${watcher}`]),
    ...(audit === 'none' ? [] : [`  audits: ${audit}`]),
  ];
}

/** Warns of a day without a run because the time does not exist when daylight saving time begins. */
function skippedNightWarnings(schedule: ScheduleSettings): string[] {
  const found = nextSkippedNight(schedule, Date.now());
  if (found === null) return [];
  return [
    `Warning: on ${found.date}, daylight saving time skips ${found.time} in ${schedule.timezone}, so no run starts on that day. ` +
      'The next run reads its changes. Choose an hour that always exists, or the time zone UTC.',
  ];
}

export function describedLines(described: DescribedSchedule): string[] {
  const { scheduleId, cron, timezone, paused, note, nextRuns, lastRuns, skipped } = described;
  return [
    `Schedule ${scheduleId}: ${cron} (${timezone})${paused ? ', paused' : ''}`,
    ...(note === null ? [] : [`  note: ${note}`]),
    ...nextLine(nextRuns),
    ...(skipped === 0 ? [] : [`  ${skipped} skipped because the previous run was still in progress`]),
    ...(lastRuns.length === 0 ? ['  no runs yet'] : ['  last runs:']),
    ...table(
      lastRuns.map(({ scheduledAt, outcome, workflowId }) => [
        `    ${toUtcSeconds(scheduledAt.getTime())}`,
        outcome,
        workflowId,
      ]),
    ),
  ];
}

/** `paused (moving house)` */
function pausedText({ note }: Pick<AppliedSchedule, 'note'>): string {
  return note === null ? 'paused' : `paused (${note})`;
}

/** When the next run starts, for one line. */
function nextText([next]: readonly Date[], now: EpochMs = Date.now()): string {
  return next === undefined ? 'no next run' : `next run in ${age(next.getTime() - now)}`;
}

function nextLine(times: readonly Date[]): string[] {
  return times.length === 0
    ? []
    : [`  next runs: ${times.map((time) => toUtcSeconds(time.getTime())).join(', ')}`];
}

/** More than a year, so that every change to daylight saving time is found. */
const DAYS_AHEAD = 400;

/**
 * The first day within 400 days that Temporal skips because the cron's local time does not exist (observed on server
 * 1.29.1). Handles only cron expressions with one time per day, such as the default; returns `null` for others.
 *
 * @returns the local date, `2027-03-28`, and the local time that does not exist on it, `02:00`
 */
export function nextSkippedNight(
  { cron, timezone }: Pick<ScheduleSettings, 'cron' | 'timezone'>,
  from: EpochMs,
): { readonly date: string; readonly time: string } | null {
  const [minute, hour] = /^(\d{1,2}) (\d{1,2}) \S+ \S+ \S+$/.exec(cron.replace(/\s+/g, ' '))?.slice(1) ?? [];
  if (minute === undefined || hour === undefined) return null;
  const time = `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
  for (let day = 1; day <= DAYS_AHEAD; day++) {
    const date = new Date(from + day * DAY_MS).toISOString().slice(0, 10);
    // Luxon moves a time that does not exist to the end of the gap.
    const local = DateTime.fromISO(`${date}T${time}`, { zone: timezone });
    if (local.toFormat('HH:mm') !== time) return { date, time };
  }
  return null;
}
