import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { promptForMissing, runInit } from '../../../src/cli/setup/init-command.js';
import { createPrompter } from '../../../src/cli/setup/prompt.js';
import { configJsonSchema, loadSettings, parseSettings, starterConfig } from '../../../src/config/index.js';
import { DEMO_KEY, startSimulator } from '../../../src/simulator/index.js';

const FLAGS = { baseUrl: 'https://tracker.example.com', lake: 's3://company-lake/worktrack' };

describe('worktrack init', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-init-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('writes a valid file from options, with its schema next to it for editors', async () => {
    const out = join(folder, 'worktrack.yaml');
    const more = {
      connection: 'acme',
      endpoint: 'http://127.0.0.1:9000',
      region: 'eu-west-1',
      apiKeyEnv: 'MY_KEY',
    };
    expect(await runInit({ ...FLAGS, ...more, resources: 'projects, members', out })).toBe(0);
    const { connections } = loadSettings({ file: out, env: {}, cwd: folder });
    expect(connections).toMatchObject([
      {
        name: 'acme',
        baseUrl: FLAGS.baseUrl,
        apiKey: { env: 'MY_KEY' },
        lake: { url: FLAGS.lake, endpoint: more.endpoint, region: 'eu-west-1', forcePathStyle: true },
        resources: [{ name: 'projects' }, { name: 'members' }],
      },
    ]);
    const [first] = (await readFile(out, 'utf8')).split('\n');
    const schema = /^# yaml-language-server: \$schema=(\S+)$/.exec(first ?? '')?.[1];
    expect(JSON.parse(await readFile(join(folder, schema!), 'utf8'))).toEqual(
      JSON.parse(JSON.stringify(configJsonSchema())),
    );
  });

  it('uses the four resources and WORKTRACK_API_KEY by default', async () => {
    const out = join(folder, 'deep', 'worktrack.yml');
    await runInit({ ...FLAGS, out });
    const [connection] = loadSettings({ file: out, env: {}, cwd: folder }).connections;
    expect(connection?.apiKey).toEqual({ env: 'WORKTRACK_API_KEY' });
    expect(connection?.resources.map(({ name }) => name)).toEqual([
      'projects',
      'tasks',
      'time-entries',
      'calendar-entries',
    ]);
  });

  it('finds the fields that date the windows, if the key is set and the service answers', async () => {
    const simulator = await startSimulator({ awkward: false });
    const out = join(folder, 'worktrack.yaml');
    process.env.WORKTRACK_INIT_TEST_KEY = DEMO_KEY;
    try {
      await runInit({ ...FLAGS, baseUrl: simulator.url, apiKeyEnv: 'WORKTRACK_INIT_TEST_KEY', out });
      const [connection] = loadSettings({ file: out, env: {}, cwd: folder }).connections;
      expect(connection?.resources.map(({ name, windowField }) => [name, windowField])).toEqual([
        ['projects', null],
        ['tasks', null],
        ['time-entries', 'startedAt'],
        ['calendar-entries', 'startsAt'],
      ]);
      await simulator.close();
      await runInit({
        ...FLAGS,
        baseUrl: simulator.url,
        apiKeyEnv: 'WORKTRACK_INIT_TEST_KEY',
        out,
        force: true,
      });
      expect(await readFile(out, 'utf8')).not.toContain('windowField');
    } finally {
      delete process.env.WORKTRACK_INIT_TEST_KEY;
      await simulator.close();
    }
  });

  it('names the missing options if there is no terminal, and writes nothing', async () => {
    const out = join(folder, 'worktrack.yaml');
    await expect(runInit({ out })).rejects.toThrow(/--base-url and --lake are missing.*no terminal/);
    await expect(runInit({ out, lake: FLAGS.lake })).rejects.toThrow(/--base-url is missing/);
    expect(await readdir(folder)).toEqual([]);
  });

  it('does not change an existing file without --force', async () => {
    const out = join(folder, 'worktrack.yaml');
    await writeFile(out, 'mine');
    await expect(runInit({ ...FLAGS, out })).rejects.toThrow(/already exists/);
    expect(await readFile(out, 'utf8')).toBe('mine');
    expect(await readdir(folder)).toEqual(['worktrack.yaml']);
    await runInit({ ...FLAGS, out, force: true });
    expect(await readFile(out, 'utf8')).toContain(FLAGS.lake);
  });

  it.each([
    [{ baseUrl: 'tracker' }, /^--base-url: found the text "tracker"/],
    [{ lake: './lake' }, /^--lake: found/],
    [{ endpoint: 'nowhere' }, /^--endpoint: found/],
    [{ connection: 'Not A Name' }, /^--connection: .*found/],
    [{ resources: 'projects,../x' }, /^--resources: found/],
    [{ resources: ' , ' }, /^--resources: found an empty list/],
  ])('rejects %j and names the option', async (wrong, message) => {
    const out = join(folder, 'worktrack.yaml');
    await expect(runInit({ ...FLAGS, ...wrong, out })).rejects.toThrow(message);
    expect(await readdir(folder)).toEqual([]);
  });

  it('never repeats or writes an API key that was given as the name of a variable', async () => {
    const out = join(folder, 'worktrack.yaml');
    const error = await runInit({ ...FLAGS, apiKeyEnv: 'wt-live-5f0c', out }).catch(
      (caught: Error) => caught,
    );
    expect((error as Error).message).toMatch(/^--api-key-env: .*not the name of an environment variable/);
    expect((error as Error).message).not.toContain('wt-live-5f0c');
    expect(await readdir(folder)).toEqual([]);
  });

  it('prompts for missing values, explains an invalid answer, and uses the default for an empty one', async () => {
    const { prompter, answer, printed } = terminal();
    const answers = promptForMissing(prompter, { lake: 'file:///var/lake' });
    await answer(/Name of the connection/, '');
    await answer(/URL of the service/, '');
    await answer(/answer is required[\s\S]*URL of the service/, 'ftp://x');
    await answer(/found the text "ftp:\/\/x"[\s\S]*URL of the service/, 'https://t.example');
    await answer(/NAME of the environment variable/, 'sk-123');
    await answer(/not the name[\s\S]*NAME of the environment variable/, 'K');
    await answer(/Resources, separated/, 'tasks');
    const given = await answers;
    expect(given).toEqual({
      connection: 'main',
      baseUrl: 'https://t.example',
      lake: 'file:///var/lake',
      apiKeyEnv: 'K',
      resources: ['tasks'],
    });
    // A folder has no endpoint and no region.
    expect(printed()).not.toMatch(/endpoint|region/);
    expect(parseSettings(starterConfig(given, 's.json'), 'x').connections).toHaveLength(1);
    prompter.close();
  });

  it('writes nothing if the user cancels a prompt', async () => {
    const { prompter, input, printed } = terminal();
    const answers = promptForMissing(prompter, {});
    input.write('\u0003');
    await expect(answers).rejects.toMatchObject({ name: 'DetachedError', message: 'Nothing was written.' });
    // Node.js ends the line, so the message needs no line break, which would be escaped.
    expect(printed().endsWith('\n')).toBe(true);
  });
});

/** A terminal with a simulated user. */
function terminal() {
  const input = new PassThrough();
  const output = new PassThrough();
  let all = '';
  let seen = 0;
  output.on('data', (chunk: Buffer) => {
    all += chunk.toString();
  });
  return {
    prompter: createPrompter({ input, output }, 'Nothing was written.'),
    input,
    printed: () => all,
    /** Waits for a prompt, then types. */
    async answer(prompt: RegExp, text: string) {
      while (!prompt.test(all.slice(seen))) {
        await new Promise((resolve) => output.once('data', resolve));
      }
      seen = all.length;
      input.write(`${text}\n`);
    },
  };
}
