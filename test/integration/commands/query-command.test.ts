import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { HOSTILE_READS, REFUSED } from '../../support/refused-statements.js';

const DIST = new URL('../../../dist/src/', import.meta.url);

/** Runs statements in turn as a user's program would, and prints the code of the error, or null, for each. */
const RUN_ALL = `
import { readFileSync } from 'node:fs';
import { loadSettings, queryLake } from '${new URL('index.js', DIST)}';
const { connections: [connection] } = loadSettings({ env: process.env, cwd: process.cwd(), file: process.env.CONFIG });
const codes = [];
for (const sql of JSON.parse(process.env.STATEMENTS)) {
  try {
    const result = await queryLake(connection, sql);
    for await (const _ of result.texts());
    codes.push(null);
  } catch (error) {
    codes.push(error.code ?? String(error));
  }
}
console.log(JSON.stringify(codes));
`;

describe('worktrack query', () => {
  let mirror: InProcessMirror;
  let folder: string;
  let env: NodeJS.ProcessEnv;
  const at = (name: string): string => join(folder, name);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-query-'));
    for (const name of ['home', 'work', 'cache']) await mkdir(at(name));
    const simulator = { counts: { tasks: 300 } };
    mirror = await InProcessMirror.start({ simulator, resource: 'tasks', yaml: '{ name: tasks }' });
    await mirror.run();
    await writeFile(
      at('worktrack.yaml'),
      `connections:
  acme:
    baseUrl: http://127.0.0.1:9
    apiKey: { env: WORKTRACK_API_KEY }
    lake: { url: "${mirror.settings.lake.url}" }
    resources: [tasks]
`,
    );
    await writeFile(join(at('home'), '.profile'), 'a file of the user\n');
    env = {
      ...{ PATH: process.env.PATH, HOME: at('home'), WORKTRACK_CACHE: at('cache') },
      ...{ CONFIG: at('worktrack.yaml'), WORKTRACK_CONFIG: at('worktrack.yaml') },
    };
  });
  afterAll(async () => {
    await mirror?.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function node(args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { cwd: at('work'), env: { ...env, ...more } };
      execFile(process.execPath, args, options, (error, stdout, stderr) =>
        error === null ? resolve(stdout) : reject(new Error(stderr)),
      );
    });
  }
  const query = (...args: string[]) => node([fileURLToPath(new URL('cli/main.js', DIST)), 'query', ...args]);

  /** Path, size and SHA-256 of each file below the lake, the home and the working directory. */
  async function everything(): Promise<string[]> {
    const found: string[] = [];
    for (const root of [mirror.folder, at('home'), at('work')])
      for (const name of (await readdir(root, { recursive: true })).sort()) {
        const path = join(root, name);
        const isFile = (await stat(path)).isFile();
        const hash = isFile
          ? createHash('sha256')
              .update(await readFile(path))
              .digest('hex')
          : 'folder';
        found.push(`${path} ${hash}`);
      }
    return found;
  }

  it('changes nothing in the lake, the home and the working directory, whatever the statement is', async () => {
    const before = await everything();
    expect(before.length).toBeGreaterThan(4);
    const hostile = HOSTILE_READS.map((sql) =>
      sql.replaceAll('HOME', at('home')).replaceAll('LAKE', mirror.folder),
    );
    const statements = [...REFUSED, ...hostile, 'SELECT count(*) FROM tasks'];
    const run = ['--input-type=module', '-e', RUN_ALL];
    const codes = JSON.parse(await node(run, { STATEMENTS: JSON.stringify(statements) })) as (
      | string
      | null
    )[];
    expect(codes.slice(0, REFUSED.length)).toEqual(REFUSED.map(() => 'QUERY'));
    expect(codes.filter((code) => code !== null && code !== 'QUERY')).toEqual([]);
    expect(codes.at(-1)).toBeNull();
    expect(await everything()).toEqual(before);
    // Only verified parts stay, no folder of a query.
    for (const name of await readdir(join(at('cache'), 'query')))
      expect(name).toMatch(/^[0-9a-f]{64}\.csv\.gz$/);
  });

  it('prints numbers as they are, in every format', async () => {
    const sql = "SELECT 9007199254740993 AS a, 18446744073709551615 AS b, 12.50 AS c, NULL AS d, '' AS e";
    expect(await query(sql, '--csv')).toBe('a,b,c,d,e\n9007199254740993,18446744073709551615,12.50,,""\n');
    expect(JSON.parse(await query(sql, '--json')).rows).toEqual([
      { a: '9007199254740993', b: '18446744073709551615', c: '12.50', d: null, e: '' },
    ]);
    const shown = (await query(sql)).split('\n');
    expect(shown[1]!.trim().split(/ +/)).toEqual([
      ...['9007199254740993', '18446744073709551615', '12.50', 'NULL'],
    ]);
    for (const line of (
      await node([fileURLToPath(new URL('cli/main.js', DIST)), 'query', 'FROM tasks LIMIT 3'], {
        COLUMNS: '80',
      })
    ).split('\n'))
      expect(line.length).toBeLessThanOrEqual(80);
  });

  it('reads a statement from stdin', async () => {
    const main = fileURLToPath(new URL('cli/main.js', DIST));
    const child = execFile(process.execPath, [main, 'query', '--csv'], { cwd: at('work'), env });
    child.stdin!.end('SELECT count(*) AS n\nFROM tasks;\n');
    let printed = '';
    for await (const chunk of child.stdout!) printed += chunk;
    expect(printed).toBe('n\n300\n');
  });
});
