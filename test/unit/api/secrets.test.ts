import { createHmac } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { resolveSecret, SecretReader } from '../../../src/api/index.js';
import { ConfigurationError } from '../../../src/core/errors.js';
import { secretFingerprint } from '../../../src/core/secrets.js';
import { rejection } from './support.js';

function secretFile(content: string, mode = 0o600): string {
  const folder = mkdtempSync(join(tmpdir(), 'worktrack-secret-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'key');
  writeFileSync(file, content);
  chmodSync(file, mode);
  return file;
}

test('a secret from a variable is its value', async () => {
  expect(await resolveSecret({ env: 'K' }, { env: { K: 'abc' } })).toEqual({
    value: 'abc',
    worldReadable: false,
  });
});

test('a secret from a file is its content without the trailing line break', async () => {
  expect(await resolveSecret({ file: secretFile('abc\r\n') })).toEqual({
    value: 'abc',
    worldReadable: false,
  });
});

test('a world-readable file is reported', async () => {
  expect((await resolveSecret({ file: secretFile('abc', 0o644) })).worldReadable).toBe(true);
});

test('a variable that is not set is a configuration error that names it', async () => {
  const error = await rejection(
    resolveSecret({ env: 'NOT_SET' }, { env: {}, path: 'connections.acme.apiKey' }),
  );
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(error).toMatchObject({ code: 'CONFIGURATION', path: 'connections.acme.apiKey' });
  expect((error as Error).message).toContain('NOT_SET');
});

test('a missing file is a configuration error that names it', async () => {
  const error = await rejection(resolveSecret({ file: '/nowhere/key' }));
  expect(error).toBeInstanceOf(ConfigurationError);
  expect((error as Error).message).toContain('/nowhere/key');
});

test('a file that is too large for a secret is not read', async () => {
  const error = await rejection(resolveSecret({ file: secretFile('a'.repeat(100_000)) }));
  expect((error as Error).message).toContain('too large');
});

test.each(['zq\nzq', 'zq\rzq', 'zq zq', 'zqé', 'zq\u0000zq', ' \n '])(
  '%j is a configuration error that does not show it',
  async (value) => {
    const error = await rejection(resolveSecret({ env: 'K' }, { env: { K: value } }));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(inspect(error)).not.toContain('zq');
  },
);

test('a changed file is read again after a few seconds, and not for each request', async () => {
  const file = secretFile('old');
  let now = 1_000;
  const reader = new SecretReader({ file }, { path: 'apiKey', now: () => now });
  expect((await reader.read()).value).toBe('old');
  writeFileSync(file, 'new');
  now += 1_000;
  expect((await reader.read()).value).toBe('old');
  now += 5_000;
  expect((await reader.read()).value).toBe('new');
});

test('a reader with a secret does not print it', async () => {
  const reader = new SecretReader({ file: secretFile('hidden-value') }, { path: 'apiKey', now: () => 0 });
  await reader.read();
  expect(inspect(reader, { depth: Number.POSITIVE_INFINITY })).not.toContain('hidden-value');
  expect(JSON.stringify(reader)).not.toContain('hidden-value');
});

describe('a header value', () => {
  const env = { H: 'Bearer abc\n', BAD: 'Bearer\nabc' };

  it('may contain spaces, but a token may not', async () => {
    expect((await resolveSecret({ env: 'H' }, { env, form: 'header' })).value).toBe('Bearer abc');
    await expect(resolveSecret({ env: 'H' }, { env })).rejects.toThrow('contains a space');
  });

  it('must not contain a line break, which would end the header', async () => {
    await expect(resolveSecret({ env: 'BAD' }, { env, form: 'header' })).rejects.toThrow(
      'contains a line break',
    );
  });
});

describe('The fingerprint of a secret', () => {
  it('is a part of an HMAC-SHA-256 under the secret, of a text that says what kind of secret it is', () => {
    const code = createHmac('sha256', 'wt-key')
      .update('temporal-worktrack: fingerprint of an API key')
      .digest('hex');
    expect(secretFingerprint('wt-key', 'an API key')).toBe(code.slice(0, 16));
    expect(secretFingerprint('wt-key', 'a masking secret')).not.toBe(code.slice(0, 16));
  });
});

describe('A rejected secret', () => {
  const reader = (ref: { file: string } | { env: string }) =>
    new SecretReader(ref, { path: 'apiKey', now: () => performance.now() });
  const soon = { withinMs: 5_000 };

  it('is replaced as soon as its file has another value, even if the file is empty for a moment', async () => {
    const file = secretFile('old');
    const secret = reader({ file });
    expect((await secret.read()).value).toBe('old');
    const replaced = secret.isReplaced('old', soon);
    writeFileSync(file, '');
    setTimeout(() => writeFileSync(file, 'new'), 20);
    expect(await replaced).toBe(true);
    expect((await secret.read()).value).toBe('new');
  });

  it('is awaited once, and looked at again without a wait', async () => {
    const file = secretFile('old');
    const secret = reader({ file });
    const begun = performance.now();
    const waits = [secret.isReplaced('old', { withinMs: 300 }), secret.isReplaced('old', { withinMs: 300 })];
    expect(await Promise.all(waits)).toEqual([false, false]);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(300);
    const again = performance.now();
    expect(await secret.isReplaced('old', soon)).toBe(false);
    expect(performance.now() - again).toBeLessThan(1000);
    writeFileSync(file, 'new');
    expect(await secret.isReplaced('old', soon)).toBe(true);
  });

  it('is not awaited in a variable, and the wait ends with its signal', async () => {
    expect(await reader({ env: 'PATH' }).isReplaced('old', soon)).toBe(false);
    const signal = AbortSignal.timeout(20);
    await expect(
      reader({ file: secretFile('old') }).isReplaced('old', { ...soon, signal }),
    ).rejects.toThrow();
  });
});
