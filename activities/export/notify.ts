import { Context } from '@temporalio/activity';
import {
  boundMessage,
  createRedactor,
  isSuccess,
  postJson,
  resolveSecret,
  TransientError,
} from '../../src/api/index.js';
import type { Activities, NotifyInput, RunError } from '../../src/core/contract/index.js';
import { notifyUrlProblem } from '../../src/core/notify.js';
import type { ConnectionSettings, NotifySettings } from '../../src/core/settings.js';
import type { ActivityDeps } from '../shared/deps.js';
import { finalFailure } from '../shared/failures.js';

const TIMEOUT_MS = 15_000;
const MAX_ERROR_CHARS = 2_000;

/** Sends a failure or a recovery to the configured URL. Does nothing if the configuration no longer includes the event. */
export function createNotify(deps: ActivityDeps): Activities['worktrack.notify'] {
  return async (input) => {
    const { settings } = deps.connection(input.connection);
    const { notify } = settings;
    if (notify === null || !notify.on.includes(input.event)) return;
    const path = `connections.${settings.name}.notify`;
    const url =
      typeof notify.url === 'string'
        ? notify.url
        : (await resolveSecret(notify.url, { path: `${path}.url` })).value;
    const problem = notifyUrlProblem(url);
    if (problem !== null) throw finalFailure('Configuration', `${path}.url ${problem}`);
    const headers = await readHeaders(notify, path);
    const status = await postJson({
      url,
      headers,
      body: bodyOf(input, await redactorOf(settings, [url, ...Object.values(headers)])),
      timeoutMs: TIMEOUT_MS,
      signal: Context.current().cancellationSignal,
      name: `${path}.url`,
    });
    check(status, path);
  };
}

async function readHeaders({ headers }: NotifySettings, path: string): Promise<Record<string, string>> {
  const read = Object.entries(headers).map(async ([name, ref]) => {
    const { value } = await resolveSecret(ref, { path: `${path}.headers.${name}`, form: 'header' });
    return [name, value] as const;
  });
  return Object.fromEntries(await Promise.all(read));
}

/** An error message can contain any text, so known secrets are redacted before it is sent. */
async function redactorOf({ apiKey }: ConnectionSettings, secrets: readonly string[]) {
  // The API key itself may be unreadable, and may be the cause of the failure.
  const key = await resolveSecret(apiKey).catch(() => null);
  return createRedactor(key === null ? secrets : [...secrets, key.value]);
}

function bodyOf(
  { event, connection, resource, outcome, runId, error, resources, at }: NotifyInput,
  redact: (text: string) => string,
): object {
  const sent = (one: RunError | null) =>
    one === null ? null : { type: one.type, message: boundMessage(redact(one.message), MAX_ERROR_CHARS) };
  const listed = resources ?? [{ resource, event, outcome, runId, error }];
  return {
    ...{ event, connection, resource, outcome, runId, error: sent(error) },
    resources: listed.map((one) => ({ ...one, error: sent(one.error) })),
    at: new Date(at).toISOString(),
  };
}

function check(status: number, path: string): void {
  if (isSuccess(status)) return;
  const message = `${path}.url returned status ${status}`;
  if (status >= 500 || [408, 425, 429].includes(status))
    throw new TransientError(message, { reason: 'status' });
  throw finalFailure('Configuration', `${message}. Correct the URL or ${path}.headers.`);
}
