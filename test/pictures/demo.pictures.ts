import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findChromium, openPage, type Page, type Screen } from '../support/chromium.js';
import { until } from '../support/stack.js';

const ROOT = resolve(import.meta.dirname, '../..');
const CLI = join(ROOT, 'dist/src/cli/main.js');
/** 80 characters and the margins. */
const WIDTH = 760;

let folder: string;
let bin: string;
let demo: ReturnType<typeof spawn>;
let page: Page;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-pictures-'));
  // A link, as of a global installation: messages then say `worktrack`.
  bin = join(folder, 'bin');
  await mkdir(bin);
  await symlink(CLI, join(bin, 'worktrack'));
  demo = spawn(process.execPath, [CLI, 'demo', '--keep', '--dir', join(folder, 'demo')], { cwd: folder });
  let printed = '';
  demo.stdout!.on('data', (chunk) => {
    printed += String(chunk);
  });
  await until(
    () => {
      if (demo.exitCode !== null) throw new Error(`the demo ended: ${printed}`);
      return printed.includes('In another terminal');
    },
    'the demo has run',
    240_000,
  );
  const chromium = findChromium();
  if (chromium === null) throw new Error('Chromium is needed: set CHROMIUM, or put it on PATH.');
  page = await openPage(chromium);
}, 300_000);

afterAll(async () => {
  await page?.close();
  const ended = once(demo, 'exit');
  demo.kill('SIGINT');
  await ended;
  await rm(folder, { recursive: true, force: true });
});

async function save(name: string, url: string, screen: Screen): Promise<void> {
  await page.show(url, screen);
  await writeFile(join(ROOT, 'docs/images', name), await page.screenshot());
}

const REPORTS = [
  ['demo-report.png', { width: 1280, height: 900, scheme: 'light' }],
  ['report-phone.png', { width: 390, height: 1400, scheme: 'light' }],
  ['report-phone-dark.png', { width: 390, height: 1400, scheme: 'dark' }],
] as const;

it.each(REPORTS)('the report of the demo is in %s', async (name, screen) => {
  await save(name, pathToFileURL(join(folder, 'demo/report.html')).href, screen);
});

it.each([
  ['status.png', 'status'],
  ['history.png', 'history --resource tasks'],
])('%s shows what `worktrack %s` prints', async (name, command) => {
  const env = Object.fromEntries(
    [...(await readFile(join(folder, 'demo/env'), 'utf8')).matchAll(/^export (\w+)='(.*)'$/gm)].map(
      ([, key, value]) => [key!, value!],
    ),
  );
  const { stdout } = await promisify(execFile)('worktrack', command.split(' '), {
    cwd: folder,
    env: { ...process.env, ...env, PATH: `${bin}:${process.env.PATH}`, COLUMNS: '80' },
  });
  expect(stdout).toContain('published');
  expect(stdout).not.toContain(ROOT);
  const file = join(folder, `${name}.html`);
  await writeFile(file, terminal(command, stdout));
  await save(name, pathToFileURL(file).href, { width: WIDTH, height: 100, scheme: 'dark' });
  const height = await page.evaluate<number>('document.documentElement.scrollHeight');
  await save(name, pathToFileURL(file).href, { width: WIDTH, height, scheme: 'dark' });
});

function terminal(command: string, printed: string): string {
  const text = printed.trimEnd().replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const style = 'margin:0;padding:16px;background:#0d1117;color:#e6edf3;font:15px/20px monospace';
  const prompt = `<span style="color:#8b949e">$ worktrack ${command}</span>`;
  return `<!doctype html><meta charset="utf-8"><body style="${style}"><pre style="margin:0;font:inherit">${prompt}\n${text}</pre>`;
}
