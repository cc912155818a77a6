import { describe, expect, it } from 'vitest';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import { organizationFinding } from '../../../src/doctor/check-organization.js';

const KEY = '0123456789abcdef';
const OTHER = 'fedcba9876543210';

/** Resources of a connection: `projects` can be read by id. */
function connection(...names: string[]): Pick<ConnectionSettings, 'resources'> {
  const resources = names.map((name) => ({
    name,
    key: ['id'],
    columns: { mask: {} },
    csv: { nested: 'json' },
    fetchById: name === 'projects',
  }));
  return { resources } as unknown as ConnectionSettings;
}

const snapshot = (name: string, ...keys: string[]) => ({
  name,
  organization: { keys, basis: 'same-key' } as const,
});

describe('the finding about the organization', () => {
  it('names the resources that the key has read, and what else the check rests on', () => {
    const found = organizationFinding(
      connection('projects', 'tasks'),
      [snapshot('projects', OTHER, KEY), snapshot('tasks', KEY)],
      KEY,
    );
    expect(found).toEqual({
      check: 'organization',
      state: 'ok',
      message: `the API key (fingerprint ${KEY}) is one of those that have read projects, tasks; known projects are requested by id, too`,
      remedy: null,
    });
  });

  it.each([
    [[snapshot('tasks', OTHER)]],
    [[snapshot('tasks', OTHER), snapshot('members', KEY)]],
    [[snapshot('tasks', OTHER), { name: 'members', organization: null }]],
  ])('warns of a key that has not read a snapshot: %j', (snapshots) => {
    const found = organizationFinding(connection('tasks', 'members'), snapshots, KEY);
    expect(found).toMatchObject({ state: 'warning' });
    expect(found.message).toContain('is not one of those that have read tasks; the next run compares');
    expect(found.message).toContain('no projects are known');
    expect(found.remedy).toContain('worktrack export --adopt-organization');
  });

  it('says that nothing is compared with the snapshot of an earlier version, or without any snapshot', () => {
    const old = organizationFinding(connection('tasks'), [{ name: 'tasks', organization: null }], KEY);
    expect(old).toMatchObject({ state: 'ok' });
    expect(old.message).toContain('has published tasks without its key, so it is not compared');
    const none = organizationFinding(connection('tasks'), [], KEY);
    expect(none.message).toContain('nothing is published');
  });
});
