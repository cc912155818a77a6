import { isSuccess, postAlert, targetPath } from '../../api/index.js';
import { type AlertEvent, exampleAlert } from '../../core/alerts/index.js';
import type { AlertMessage } from '../../core/contract/index.js';
import { ConfigurationError, WorktrackError } from '../../core/errors.js';
import type { ConnectionSettings, NotifyTarget } from '../../core/settings.js';
import { EXIT, type ExitCode, UsageError } from '../shared/choose-exit-code.js';
import type { GlobalOptions, SeveralOptions } from '../shared/command-options.js';
import { chooseConnections, readSettings } from '../shared/each-connection.js';
import { output, printJson } from '../shared/output.js';

interface NotifyOptions extends SeveralOptions {
  readonly test?: boolean;
  readonly event: AlertEvent;
}

interface Answer {
  readonly connection: string;
  /** Path in the configuration. */
  readonly target: string;
  readonly format: NotifyTarget['format'];
  /** What was sent: an example, or the end of the incident that the example opened. */
  readonly sent: AlertMessage['kind'];
  readonly outcome: 'accepted' | 'rejected' | 'not sent';
  readonly status: number | null;
  /** The body of the answer, or why nothing was sent. */
  readonly text: string;
}

/**
 * `worktrack notify --test`: sends an example to each target and prints the answer. A target of several connections gets one.
 * Sends from this machine, without Temporal.
 */
export async function runNotify(options: NotifyOptions): Promise<ExitCode> {
  if (options.test !== true) throw new UsageError('notify sends an example to people; add --test to send it');
  const connections = chooseConnections(readSettings(options), options);
  const targets = new Map<string, { connection: ConnectionSettings; target: NotifyTarget }>();
  for (const connection of connections)
    for (const target of connection.notify)
      if (!targets.has(target.id)) targets.set(target.id, { connection, target });
  if (targets.size === 0) {
    const where = connections.length === 1 ? `connections.${connections[0]!.name}` : 'these connections';
    throw new ConfigurationError(`There is no target for alerts: ${where} has no \`notify\``, {
      remedy: 'Add `notify` to the configuration.',
    });
  }
  const answers: Answer[] = [];
  for (const { connection, target } of targets.values())
    for (const message of examples(connection, target, options.event)) {
      const answer = await send(connection, target, { ...message, ...placeOf(options) });
      answers.push(answer);
      if (answer.outcome !== 'accepted') break;
    }
  const failing = answers.filter(({ outcome }) => outcome !== 'accepted');
  const shown = options.failing === true ? failing : answers;
  if (options.json === true)
    printJson({ outcome: failing.length === 0 ? 'accepted' : 'failed', targets: answers });
  else for (const answer of shown) output.out(lineOf(answer));
  if (failing.length === 0) return EXIT.done;
  return failing.some(({ outcome }) => outcome === 'rejected') ? EXIT.failed : EXIT.usage;
}

/** An incident that an example has opened is resolved immediately, so that it wakes no one. */
function examples(
  { name: connection, resources }: ConnectionSettings,
  { format }: NotifyTarget,
  event: AlertEvent,
): AlertMessage[] {
  const example = (of: AlertEvent): AlertMessage =>
    exampleAlert(connection, of, Date.now(), resources[0]?.name);
  const message = example(event);
  if (format !== 'pagerduty') return [message];
  const problem = event === 'recovery' ? example('failure') : message;
  // Its own key: the example must not resolve a real incident.
  const named = (groups: AlertMessage['news']): AlertMessage['news'] => ({
    ...groups,
    groups: groups.groups.map((group) => ({ ...group, connection: `${connection} (test)` })),
  });
  const trigger = { ...problem, news: named(problem.news) };
  return [trigger, { ...trigger, kind: 'resolve', over: trigger.news, news: trigger.over }];
}

function placeOf({ taskQueue }: GlobalOptions): Pick<AlertMessage, 'taskQueue'> {
  return taskQueue === undefined ? {} : { taskQueue };
}

async function send(
  connection: ConnectionSettings,
  target: NotifyTarget,
  message: AlertMessage,
): Promise<Answer> {
  const path = targetPath(connection, target);
  const common = { connection: connection.name, target: path, format: target.format, sent: message.kind };
  try {
    const { status, text } = await postAlert({ connection, target, message, named: [] });
    return { ...common, outcome: isSuccess(status) ? 'accepted' : 'rejected', status, text };
  } catch (error) {
    if (!(error instanceof WorktrackError)) throw error;
    const outcome = error instanceof ConfigurationError ? 'not sent' : 'rejected';
    return { ...common, outcome, status: null, text: error.describe() };
  }
}

function lineOf({ target, format, sent, outcome, status, text }: Answer): string {
  const what = sent === 'resolve' ? ', resolve' : '';
  const code = status === null ? '' : ` (status ${status})`;
  return `${target} (${format}${what}): ${outcome}${code}${text === '' ? '' : `: ${text}`}`;
}
