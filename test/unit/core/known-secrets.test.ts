import { afterEach, describe, expect, it, vi } from 'vitest';
import { resolveSecret } from '../../../src/api/index.js';
import { jsonLine, textLine } from '../../../src/cli/shared/log-line.js';
import { output, printJson } from '../../../src/cli/shared/output.js';
import { ConfigurationError, errorMessage } from '../../../src/core/errors.js';
import { redactKnown, rememberSecret } from '../../../src/core/known-secrets.js';
import { checkEnvironment, rememberEnvironment } from '../../../src/core/secrets.js';
import { toFailure } from '../../../src/run/failures.js';

const MARK = 'Q7zMarkedSecret';

/** The variables of libraries, with what they hold. */
const VARIABLES: Readonly<Record<string, (secret: string) => string>> = {
  TEMPORAL_API_KEY: (secret) => secret,
  TEMPORAL_CODEC_AUTH: (secret) => secret,
  TEMPORAL_GRPC_META_X_TOKEN: (secret) => secret,
  TEMPORAL_TLS_CLIENT_KEY_DATA: (secret) =>
    `-----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----`,
  AWS_SECRET_ACCESS_KEY: (secret) => secret,
  AWS_SESSION_TOKEN: (secret) => secret,
  AWS_CONTAINER_AUTHORIZATION_TOKEN: (secret) => secret,
  OTEL_EXPORTER_OTLP_HEADERS: (secret) => `api-key=${secret},team=a`,
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: (secret) => `api-key=${secret}`,
  OTEL_EXPORTER_OTLP_ENDPOINT: (secret) => `https://user:${encodeURIComponent(secret)}@collector.example`,
  HTTPS_PROXY: (secret) => `http://user:${encodeURIComponent(secret)}@proxy.example:3128`,
  http_proxy: (secret) => `user:${encodeURIComponent(secret)}@proxy.example:3128`,
};

/** How secrets get damaged on their way into a variable. */
const DAMAGES: Readonly<Record<string, (secret: string) => string>> = {
  'as it is': (secret) => secret,
  'with a line break at its end': (secret) => `${secret}\n`,
  'with a Windows line break': (secret) => `${secret}\r\n`,
  'with blanks around it': (secret) => `  ${secret}\t`,
  'with a blank inside': (secret) => `${secret} ${secret}`,
  'with a line break inside': (secret) => `${secret}\n${secret}x`,
  'in quotation marks': (secret) => `"${secret}"`,
  'with a label': (secret) => `Bearer ${secret}`,
  'with a character outside ASCII': (secret) => `${secret}\u2026`,
  'with a control character': (secret) => `${secret}\u0007`,
};

/** Damages that trimming repairs, or that a service has to judge. */
const USABLE = [
  ...['as it is', 'with a line break at its end', 'with a Windows line break', 'with blanks around it'],
  'in quotation marks',
];
/** A whole header may have blanks. */
const USABLE_HEADERS = ['with a blank inside', 'with a label'];

/** What libraries make of a secret in their messages. */
const ECHOES: readonly ((secret: string) => string)[] = [
  (secret) => `Metadata string value "Bearer ${secret}" contains illegal characters`,
  (secret) => `Invalid character in header content ["x-key"]: ${JSON.stringify(secret)}`,
  (secret) => `failed: ${Buffer.from(`user:${secret.trim()}`).toString('base64')}`,
  (secret) => `https://proxy/${encodeURIComponent(secret)}`,
];

/** Everything that a process writes about a message, by each way that it has. */
function writtenAbout(message: string): string {
  const written: string[] = [];
  const take = (text: unknown) => {
    written.push(String(text));
    return true;
  };
  vi.spyOn(process.stdout, 'write').mockImplementation(take);
  vi.spyOn(process.stderr, 'write').mockImplementation(take);
  output.out(message);
  output.note(message, 'error', { cause: message });
  output.styled(message);
  printJson({ [message]: [message] });
  vi.restoreAllMocks();
  const entry = { timestampNanos: 0n, level: 'WARN', message, meta: { error: new Error(message) } } as const;
  const failure = toFailure(new Error(message)) as Error;
  const ours = new ConfigurationError(message, { remedy: message });
  written.push(jsonLine(entry), textLine(entry), errorMessage(new Error(message)), ours.describe());
  written.push(failure.message, failure.stack ?? '', ours.stack ?? '');
  return written.join('\n');
}

const found = (text: string): boolean =>
  text.toLowerCase().includes(MARK.toLowerCase()) ||
  text.includes(Buffer.from(MARK).toString('base64').slice(0, 18));

afterEach(() => vi.restoreAllMocks());

describe('a secret in a variable', () => {
  const cases = Object.keys(VARIABLES).flatMap((name) =>
    Object.keys(DAMAGES).map((damage) => [name, damage] as const),
  );

  it.each(cases)('%s, %s, is in nothing that is written', (name, damage) => {
    const value = DAMAGES[damage]!(VARIABLES[name]!(MARK));
    const env: Record<string, string | undefined> = { [name]: value };
    rememberEnvironment(env);
    expect(env[name]).toBe(value.trim());
    for (const echo of ECHOES) expect(found(writtenAbout(echo(value)))).toBe(false);
  });

  it('is a configuration error that names the variable if no header can carry it, and never shows it', () => {
    for (const [name, damage] of cases) {
      const [prefix] = /^(?:TEMPORAL_|AWS_|OTEL_)/.exec(name) ?? [];
      if (prefix === undefined || /KEY_DATA|ENDPOINT/.test(name)) continue;
      const env = { [name]: DAMAGES[damage]!(VARIABLES[name]!(MARK)) };
      const check = () => checkEnvironment(prefix as 'AWS_', env);
      if (USABLE.includes(damage) || (/AUTH|META|HEADERS/.test(name) && USABLE_HEADERS.includes(damage))) {
        expect(check).not.toThrow();
      } else {
        expect(check).toThrow(name);
        expect(check).not.toThrow(MARK);
      }
    }
  });
});

describe('a secret of the configuration', () => {
  it.each(Object.keys(DAMAGES))('%s, is in nothing that is written', async (damage) => {
    const value = DAMAGES[damage]!('R9yConfiguredSecret');
    await resolveSecret({ env: 'KEY' }, { env: { KEY: value } }).catch(() => {});
    for (const echo of ECHOES) expect(writtenAbout(echo(value))).not.toContain('R9yConfiguredSecret');
  });
});

describe('the redactor of a process', () => {
  it('leaves texts alone that are too short for a secret', () => {
    rememberSecret('task');
    expect(redactKnown('the task of a task')).toBe('the task of a task');
  });
});
