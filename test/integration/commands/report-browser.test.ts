import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renderReport } from '../../../src/report/index.js';
import { findChromium, openPage, type Page } from '../../support/chromium.js';
import { sampleReport } from '../../unit/report/fixtures.js';

const chromium = findChromium();
const SCREENS = [
  { name: 'phone-light', width: 360, height: 1200, scheme: 'light' },
  { name: 'phone-dark', width: 360, height: 1200, scheme: 'dark' },
  { name: 'tablet-light', width: 720, height: 1000, scheme: 'light' },
  { name: 'desk-light', width: 1280, height: 900, scheme: 'light' },
  { name: 'desk-dark', width: 1280, height: 900, scheme: 'dark' },
] as const;

/** Of a CSS colour `rgb(…)`, 0 to 255. */
function brightness(colour: string): number {
  const [r = 0, g = 0, b = 0] = colour.match(/\d+/g)!.map(Number);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

describe.runIf(chromium !== null)('a report in a browser', () => {
  let page: Page;
  let folder: string;
  let url: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-report-'));
    const file = join(folder, 'report.html');
    await writeFile(file, renderReport(sampleReport()));
    url = pathToFileURL(file).href;
    page = await openPage(chromium!);
  });
  afterAll(async () => {
    await page?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it.each(SCREENS)('fits the screen of a $name, in its colours, and requests nothing', async (screen) => {
    page.requests.length = 0;
    await page.show(url, screen);
    // Opened, for what is folded away must fit too.
    await page.evaluate('document.querySelectorAll("details").forEach((one) => { one.open = true; })');
    const { SCREENSHOTS } = process.env;
    if (SCREENSHOTS) {
      await mkdir(SCREENSHOTS, { recursive: true });
      await writeFile(join(SCREENSHOTS, `${screen.name}.png`), await page.screenshot());
    }
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(screen.width);
    const wide = `[...document.querySelectorAll('body *')].filter((one) => !one.closest('.scroll') && one.getBoundingClientRect().right > ${screen.width} + 0.5).map((one) => one.outerHTML.slice(0, 80))`;
    expect(await page.evaluate(wide)).toEqual([]);
    const styleOf = (selector: string, name: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).${name}`);
    const [ground, ink] = [await styleOf('section', 'backgroundColor'), await styleOf('body', 'color')];
    expect(brightness(ground) > 128).toBe(screen.scheme === 'light');
    expect(Math.abs(brightness(ground) - brightness(ink))).toBeGreaterThan(140);
    expect(page.requests).toEqual([url]);
  });

  it('does not execute the content of a name', async () => {
    await page.show(url, SCREENS[0]);
    expect(await page.evaluate('document.scripts.length + document.images.length')).toBe(0);
    expect(await page.evaluate('document.querySelectorAll("section").length')).toBe(11);
  });

  it('shows ten resources, half of them in trouble, on two screens of a phone, before the first section', async () => {
    await page.show(url, { width: 390, height: 844, scheme: 'light' });
    expect(await page.evaluate('document.querySelectorAll("[role=rowheader]").length')).toBe(10);
    const top = 'document.querySelector("details").getBoundingClientRect().top + window.scrollY';
    expect(await page.evaluate(top)).toBeLessThanOrEqual(2 * 844);
  });

  it('has the sections open that need attention, and unfolds another one that is selected in the table', async () => {
    await page.show(url, SCREENS[0]);
    const open = 'document.querySelectorAll("section > details[open]").length';
    const inTrouble = Number(await page.evaluate(open));
    expect(inTrouble).toBeGreaterThan(0);
    expect(inTrouble).toBeLessThan(10);
    // The healthy resources are the last ones of the table.
    await page.evaluate('[...document.querySelectorAll("[role=rowheader] a[href]")].at(-1).click()');
    expect(await page.evaluate(open)).toBe(inTrouble + 1);
  });
});

it.runIf(chromium === null)(
  'a report has the structure of a page (no Chromium found: set CHROMIUM to see it drawn)',
  () => {
    const page = renderReport(sampleReport());
    for (const tag of [
      'html',
      'head',
      'body',
      'main',
      'section',
      'details',
      'table',
      'svg',
      'figure',
      'dl',
      'ul',
    ]) {
      const count = (pattern: string): number => page.match(new RegExp(pattern, 'g'))?.length ?? 0;
      expect(count(`<${tag}[ >]`), tag).toBe(count(`</${tag}>`));
      expect(count(`</${tag}>`), tag).toBeGreaterThan(0);
    }
  },
);
