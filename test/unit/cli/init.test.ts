import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { askOn } from '../../../src/cli/ask.js';
import { askAll, runInit } from '../../../src/cli/init.js';
import { configJsonSchema, loadSettings, parseSettings, starterConfig } from '../../../src/config/index.js';

const FLAGS = { baseUrl: 'https://tracker.example.com', lake: 's3://company-lake/worktrack' };

describe('worktrack init', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-init-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('writes from options a file that a worker reads, with its schema beside it for editors', async () => {
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

  it('takes the four resources and WORKTRACK_API_KEY where nothing else is said', async () => {
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

  it('names the options that are missing where there is no terminal, and writes nothing', async () => {
    const out = join(folder, 'worktrack.yaml');
    await expect(runInit({ out })).rejects.toThrow(/no terminal.*--base-url and --lake are missing/);
    await expect(runInit({ out, lake: FLAGS.lake })).rejects.toThrow(/--base-url is missing/);
    expect(await readdir(folder)).toEqual([]);
  });

  it('leaves a file that is there as it is, unless told to overwrite it', async () => {
    const out = join(folder, 'worktrack.yaml');
    await writeFile(out, 'mine');
    await expect(runInit({ ...FLAGS, out })).rejects.toThrow(/there already/);
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
  ])('refuses %j and says which option is wrong', async (wrong, message) => {
    const out = join(folder, 'worktrack.yaml');
    await expect(runInit({ ...FLAGS, ...wrong, out })).rejects.toThrow(message);
    expect(await readdir(folder)).toEqual([]);
  });

  it('never repeats or writes what looks like a key in place of the name of a variable', async () => {
    const out = join(folder, 'worktrack.yaml');
    const error = await runInit({ ...FLAGS, apiKeyEnv: 'wt-live-5f0c', out }).catch(
      (caught: Error) => caught,
    );
    expect((error as Error).message).toMatch(/^--api-key-env: .*not the name of an environment variable/);
    expect((error as Error).message).not.toContain('wt-live-5f0c');
    expect(await readdir(folder)).toEqual([]);
  });

  it('asks for what is not given, explains a wrong answer, and takes an empty one for the default', async () => {
    const { asker, answer, printed } = terminal();
    const answers = askAll(asker, { lake: 'file:///var/lake' });
    await answer(/A name/, '');
    await answer(/service's address/, '');
    await answer(/answer is needed[\s\S]*service's address/, 'ftp://x');
    await answer(/found the text "ftp:\/\/x"[\s\S]*service's address/, 'https://t.example');
    await answer(/NAME of the variable/, 'sk-123');
    await answer(/not the name[\s\S]*NAME of the variable/, 'K');
    await answer(/What to mirror/, 'tasks');
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
    asker.close();
  });

  it('ends without writing anything when the person leaves', async () => {
    const { asker, input } = terminal();
    const answers = askAll(asker, {});
    input.write('\u0003');
    await expect(answers).rejects.toMatchObject({ name: 'DetachedError' });
  });
});

/** A terminal with a person at it. */
function terminal() {
  const input = new PassThrough();
  const output = new PassThrough();
  let all = '';
  let seen = 0;
  output.on('data', (chunk: Buffer) => {
    all += chunk.toString();
  });
  return {
    asker: askOn({ input, output }),
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
