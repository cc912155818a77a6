import {
  chmod,
  chown,
  lstat,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runConfigAdd, runConfigSet } from '../../../src/cli/setup/config-edit-command.js';
import { loadSettings } from '../../../src/config/index.js';
import { DEMO_KEY, startSimulator } from '../../../src/simulator/index.js';

const DAY_MS = 86_400_000;

const TEXT = `connections:
  acme:
    baseUrl: https://tracker.example.com # the trial system
    apiKey: { env: WORKTRACK_API_KEY }
    lake: { url: "file:///srv/lake" }
`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-'));
});
afterEach(() => rm(folder, { recursive: true }));

it('replaces the file behind a link, with its mode, and leaves no other file', async () => {
  const [file, link] = [join(folder, 'real.yaml'), join(folder, 'worktrack.yaml')];
  await writeFile(file, TEXT);
  await chmod(file, 0o664);
  await symlink(file, link);
  const options = { config: link };
  await runConfigSet('connections.acme.deletes', 'drop', options);
  expect((await lstat(link)).isSymbolicLink()).toBe(true);
  expect((await stat(file)).mode & 0o777).toBe(0o664);
  expect(await readFile(file, 'utf8')).toBe(`${TEXT}    deletes: drop\n`);

  await expect(runConfigSet('connections.acme.deletes', 'never', options)).rejects.toThrow('deletes');
  expect(await readFile(file, 'utf8')).toBe(`${TEXT}    deletes: drop\n`);
  expect((await readdir(folder)).sort()).toEqual(['real.yaml', 'worktrack.yaml']);
});

it('adds a connection with the fields that date its windows, as `init` does', async () => {
  const file = join(folder, 'worktrack.yaml');
  const own = '{ name: time-entries, windowField: endedAt }, { name: calendar-entries, window: 30d }';
  await writeFile(file, `${TEXT}defaults:\n  resources: [tasks, ${own}]\n`);
  const simulator = await startSimulator({ awkward: false });
  const add = async (name: string, more: object = {}) => {
    const options = { config: file, baseUrl: simulator.url, apiKeyEnv: 'WORKTRACK_ADD_TEST_KEY' };
    await runConfigAdd(name, { ...options, lake: `file:///srv/${name}`, ...more });
    const { connections } = loadSettings({ file, env: {}, cwd: folder });
    const resources = connections.find((one) => one.name === name)?.resources ?? [];
    return resources.map(({ name: list, windowField, windowMs }) => [
      list,
      windowField,
      (windowMs ?? 0) / DAY_MS,
    ]);
  };
  process.env.WORKTRACK_ADD_TEST_KEY = DEMO_KEY;
  try {
    expect(await add('named', { resources: 'projects, time-entries' })).toEqual([
      ['projects', null, 0],
      ['time-entries', 'startedAt', 90],
    ]);
    const before = [
      ['tasks', null, 0],
      ['time-entries', 'endedAt', 90],
    ];
    expect(await add('inherits')).toEqual([...before, ['calendar-entries', null, 30]]);
    simulator.admin.configure({ windowDays: 30 });
    expect(await add('found')).toEqual([...before, ['calendar-entries', 'startsAt', 30]]);
    delete process.env.WORKTRACK_ADD_TEST_KEY;
    expect(await add('no-key', { resources: 'time-entries' })).toEqual([['time-entries', null, 90]]);
  } finally {
    delete process.env.WORKTRACK_ADD_TEST_KEY;
    await simulator.close();
  }
});

it.runIf(process.getuid?.() === 0)('keeps the owner and the group of the file', async () => {
  const file = join(folder, 'owned.yaml');
  await writeFile(file, TEXT);
  await chown(file, 1234, 2345);
  await runConfigSet('connections.acme.deletes', 'drop', { config: file });
  expect(await stat(file)).toMatchObject({ uid: 1234, gid: 2345 });
});

it.skipIf(process.getuid?.() === 0)('does not replace a file that this user may not write', async () => {
  const file = join(folder, 'kept.yaml');
  await writeFile(file, TEXT);
  await chmod(file, 0o444);
  await expect(runConfigSet('connections.acme.deletes', 'drop', { config: file })).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message: expect.stringContaining('permission denied'),
  });
  expect(await readFile(file, 'utf8')).toBe(TEXT);
});
