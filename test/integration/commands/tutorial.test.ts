import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { codeBlocks, pageAt } from '../../support/docs.js';
import { createBin } from '../../support/docs-world.js';
import { freePort } from '../../support/ports.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-tutorial-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('the commands of the tutorial, typed in order, print what the tutorial shows', async () => {
  // Installing is what CI begins with.
  const blocks = codeBlocks([pageAt('docs/tutorial.md')]).filter(({ heading }) => heading !== '1. Install');
  const port = String(await freePort());
  const script = blocks.map(({ language, text }, at) =>
    language === 'sh' ? text.replaceAll('8790', port) : `echo "block ${at}"`,
  );
  const { stdout } = await promisify(execFile)('bash', ['-ec', script.join('\n')], {
    cwd: folder,
    env: {
      ...process.env,
      PATH: `${await createBin(folder)}:${process.env.PATH}`,
      FORCE_COLOR: undefined,
      XDG_STATE_HOME: join(folder, 'state'),
      WORKTRACK_TEMPORAL_CLI: inject('servers').temporalCli,
    },
  });
  const shown = blocks.flatMap(({ language, text }, at) => (language === 'text' ? [{ text, at }] : []));
  expect(shown.length).toBeGreaterThan(3);
  for (const { text, at } of shown) {
    const before = stdout.slice(0, stdout.indexOf(`block ${at}\n`)).split(/block \d+\n/);
    expect(before.at(-1)).toContain(text);
  }
});
