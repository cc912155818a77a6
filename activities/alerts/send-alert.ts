import { Context } from '@temporalio/activity';
import { isSuccess, type JsonAnswer, postAlert, postPublished, targetPath } from '../../src/api/index.js';
import type { AlertMessage } from '../../src/core/contract/alerts.js';
import type { AlertSent, AnnounceInput, SendAlertInput } from '../../src/core/contract/index.js';
import type { ConnectionSettings } from '../../src/core/settings.js';
import type { ActivityDeps } from '../../src/run/deps.js';
import { finalFailure, transientFailure } from '../../src/run/failures.js';
import type { SlowReceivers } from './slow-receivers.js';

/** Statuses that a later attempt may change. */
const TRANSIENT: readonly number[] = [408, 425, 429];

/** Posts a message to its target. A target that no known connection has any more gets none. */
export async function sendAlert(
  deps: ActivityDeps,
  { connections, message }: SendAlertInput,
): Promise<AlertSent> {
  for (const name of connections) {
    const connection = knownConnection(deps, name);
    const target = connection?.notify.find(({ id }) => id === message.target);
    if (connection === null || target === undefined) continue;
    const named = namesIn(message).flatMap((one) => knownConnection(deps, one) ?? []);
    const { cancellationSignal: signal, info } = Context.current();
    const placed = { ...message, taskQueue: info.taskQueue };
    const answer = await postAlert({ connection, target, message: placed, named, signal });
    checkAnswer(answer, targetPath(connection, target));
    return { isGone: false };
  }
  return { isGone: true };
}

/**
 * Posts a published run to a target. One that is no longer configured for it gets none. Of alerts, a target gets one at a time
 * anyway, and a receiver of published runs that does not answer holds none back.
 */
export async function announceRun(
  deps: ActivityDeps,
  { connection: name, report, targets: [id] }: AnnounceInput,
  receivers: SlowReceivers,
): Promise<void> {
  const connection = knownConnection(deps, name);
  const target = connection?.notify.find((one) => one.id === id && one.published !== null);
  if (connection === null || target === undefined) return;
  const { cancellationSignal: signal } = Context.current();
  const path = targetPath(connection, target);
  const posting = { connection, target, report, signal, now: deps.now() };
  checkAnswer(await receivers.post(target.id, path, () => postPublished(posting)), path);
}

/** `null` for a connection that was removed from the configuration. */
function knownConnection(deps: ActivityDeps, name: string): ConnectionSettings | null {
  try {
    return deps.connection(name).settings;
  } catch {
    return null;
  }
}

function namesIn({ news, over, still }: AlertMessage): string[] {
  const groups = [...news.groups, ...over.groups, ...still.groups];
  return [...new Set(groups.map(({ connection }) => connection))];
}

function checkAnswer({ status, text, retryAfterMs }: JsonAnswer, path: string): void {
  if (isSuccess(status)) return;
  const message = `${path} answered with status ${status}${text === '' ? '' : `: ${text}`}`;
  if (status >= 500 || TRANSIENT.includes(status)) throw transientFailure(message, retryAfterMs);
  throw finalFailure('Configuration', `${message}. Correct its url, key, headers or format.`);
}
