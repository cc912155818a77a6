import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import { checkOtherSecrets } from '../../../src/doctor/check-secrets.js';

afterEach(() => vi.unstubAllEnvs());

/** A connection whose notices are signed with secrets from these variables. */
function connection(...variables: string[]): ConnectionSettings {
  const secrets = variables.map((env) => ({ env }));
  return { masking: null, notify: [], http: { headers: {} }, webhook: { signature: { secrets } } } as never;
}

describe('a webhook secret', () => {
  it.each([
    [1, true],
    [15, true],
    [16, false],
    [64, false],
  ])('a webhook secret of %i characters gets a warning: %s', async (length, isWarned) => {
    const secret = 'z'.repeat(length);
    vi.stubEnv('UNIT_WEBHOOK_SECRET', secret);
    const found = await checkOtherSecrets(connection('UNIT_WEBHOOK_SECRET'));
    expect(found.map(({ check, state }) => [check, state])).toEqual(isWarned ? [['key', 'warning']] : []);
    for (const { message } of found) {
      expect(message).toContain('UNIT_WEBHOOK_SECRET has fewer than 16 characters');
      expect(message).not.toContain('zz');
    }
  });

  it('a warning names each short secret of several, and none that does not exist here', async () => {
    vi.stubEnv('UNIT_SECRET_1', 'short');
    vi.stubEnv('UNIT_SECRET_2', 'long-enough-to-be-one');
    vi.stubEnv('UNIT_SECRET_3', 'short-too');
    vi.stubEnv('UNIT_SECRET_4', undefined);
    const found = await checkOtherSecrets(
      connection('UNIT_SECRET_1', 'UNIT_SECRET_2', 'UNIT_SECRET_3', 'UNIT_SECRET_4'),
    );
    expect(found.map(({ message }) => /UNIT_SECRET_\d/.exec(message)?.[0])).toEqual([
      'UNIT_SECRET_1',
      'UNIT_SECRET_3',
    ]);
  });
});
