import { connect } from 'node:net';
import { ConfigurationError, errorMessage } from '../core/errors.js';
import { notifyUrlProblem } from '../core/notify-url.js';
import { proxyFor } from '../core/proxy.js';
import { resolveSecret } from '../core/secrets.js';
import type { ConnectionSettings, NotifyTarget } from '../core/settings.js';
import { about, type Finding, ok, problem, warning } from './finding.js';

/**
 * Checks the targets of alerts without sending anything: that their secrets can be read, that the address has the form that
 * its vendor documents for the format, and that its host accepts connections.
 */
export async function checkNotify(
  { name, notify }: ConnectionSettings,
  timeoutMs: number,
): Promise<Finding[]> {
  const key = (at: number): string => `notify${notify.length === 1 ? '' : `[${at}]`}`;
  const findings = notify.map(async (target, at) => {
    const finding = await checkTarget(target, `connections.${name}.${key(at)}`, timeoutMs);
    return notify.length === 1 ? finding : about(key(at), finding);
  });
  return Promise.all(findings);
}

async function checkTarget(target: NotifyTarget, path: string, timeoutMs: number): Promise<Finding> {
  const { format } = target;
  let url: string;
  let key: string | null;
  try {
    url =
      typeof target.url === 'string'
        ? target.url
        : (await resolveSecret(target.url, { path: `${path}.url` })).value;
    key = target.key === null ? null : (await resolveSecret(target.key, { path: `${path}.key` })).value;
    for (const [header, ref] of Object.entries(target.headers))
      await resolveSecret(ref, { path: `${path}.headers.${header}`, form: 'header' });
  } catch (error) {
    const own = error instanceof ConfigurationError ? error.remedy : null;
    const remedy = `${own ?? 'Provide it again.'} The doctor reads it from the same place as the worker, so run it where the worker runs.`;
    return problem('alerts', 'configuration', errorMessage(error), remedy);
  }
  const wrong = notifyUrlProblem(url);
  if (wrong !== null) return problem('alerts', 'configuration', `${path}.url ${wrong}`, 'Correct the URL.');
  const odd = oddTarget(format, new URL(url), key);
  if (odd !== null) return warning('alerts', `${path}: ${odd[0]}`, odd[1]);
  const unreachable = await reachProblem(new URL(url), timeoutMs);
  if (unreachable !== null) {
    const remedy = 'Check the name of the host, and that this machine may connect to it.';
    return problem('alerts', 'out-of-reach', `the host of ${path} cannot be reached: ${unreachable}`, remedy);
  }
  return ok('alerts', `${path}: ${format}; send an example with \`worktrack notify --test\``);
}

/** What does not fit the documentation of the vendor, and what to do; `null`: nothing. Never repeats the URL or the key. */
function oddTarget(
  format: NotifyTarget['format'],
  { hostname, pathname }: URL,
  key: string | null,
): [message: string, remedy: string] | null {
  if (format === 'pagerduty')
    return key !== null && !/^[0-9A-Za-z]{32}$/.test(key)
      ? [
          'the key is not an integration key, which has 32 letters and digits',
          'Copy it from the integration "Events API v2" of the service in PagerDuty.',
        ]
      : null;
  const expected = FORMATS.find(({ host }) => host.test(hostname))?.format ?? null;
  if (expected === 'discord') {
    if (format === 'slack' && pathname.endsWith('/slack')) return null;
    return [
      'Discord takes only `format: slack`, at an address that ends in /slack',
      'Set `format: slack`, and add /slack to the URL.',
    ];
  }
  if (expected === null || expected === format) return null;
  return [`the host of the URL takes \`format: ${expected}\`, not ${format}`, `Set \`format: ${expected}\`.`];
}

const FORMATS = [
  { host: /^hooks\.slack(-gov)?\.com$/, format: 'slack' },
  { host: /^events(\.eu)?\.pagerduty\.com$/, format: 'pagerduty' },
  { host: /(^|\.)(logic\.azure\.com|powerplatform\.com|webhook\.office\.com)$/, format: 'teams' },
  { host: /(^|\.)discord(app)?\.com$/, format: 'discord' },
] as const;

/** Opens a connection to the host and closes it. Through a proxy, only the proxy could be asked, so nothing is checked. */
async function reachProblem(url: URL, timeoutMs: number): Promise<string | null> {
  if (proxyFor(url.href) !== null) return null;
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const end = (found: string | null): void => {
      socket.destroy();
      resolve(found);
    };
    socket.once('connect', () => end(null));
    socket.once('timeout', () => end(`no connection within ${timeoutMs / 1000} s`));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? 'the connection failed'));
  });
}
