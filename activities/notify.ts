import { Context } from '@temporalio/activity';
import { boundMessage, createRedactor, postJson, resolveSecret, TransientError } from '../src/api/index.js';
import type { Activities, NotifyInput } from '../src/core/contract.js';
import { notifyUrlProblem } from '../src/core/notify.js';
import type { ConnectionSettings, NotifySettings } from '../src/core/settings.js';
import type { ActivityDeps } from './deps.js';
import { finalFailure } from './failures.js';

const TIMEOUT_MS = 15_000;
const LONGEST_ERROR = 2_000;

/** Tells the configured URL of a failure or a recovery. Does nothing where the configuration no longer asks for it. */
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

/** A message may have come from anywhere; what we know to be secret does not leave with it. */
async function redactorOf({ apiKey }: ConnectionSettings, secrets: readonly string[]) {
  // The key may be what is wrong.
  const key = await resolveSecret(apiKey).catch(() => null);
  return createRedactor(key === null ? secrets : [...secrets, key.value]);
}

function bodyOf(
  { event, connection, resource, outcome, runId, error, at }: NotifyInput,
  redact: (text: string) => string,
): object {
  const told =
    error === null ? null : { type: error.type, message: boundMessage(redact(error.message), LONGEST_ERROR) };
  return { event, connection, resource, outcome, runId, error: told, at: new Date(at).toISOString() };
}

function check(status: number, path: string): void {
  if (status >= 200 && status < 300) return;
  const said = `${path}.url answered with status ${status}`;
  if (status >= 500 || [408, 425, 429].includes(status)) throw new TransientError(said, { reason: 'status' });
  throw finalFailure('Configuration', `${said}; correct it or its headers`);
}
