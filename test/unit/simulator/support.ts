import { afterEach } from 'vitest';
import {
  BASE_PATH,
  DEMO_KEY,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from '../../../src/simulator/index.js';

/** Where the tests' clock stands. */
export const NOW = Date.UTC(2026, 10, 21, 2, 0, 0);
export const DAY = 86_400_000;

const running: Simulator[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((simulator) => simulator.close()));
});

/** A simulator on a clock that stands still; stopped after the test. */
export async function start(options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = await startSimulator({ now: NOW, ...options });
  running.push(simulator);
  return simulator;
}

export interface Page {
  readonly data: readonly Record<string, unknown>[];
  readonly page: { readonly limit: number; readonly nextCursor: string | null };
}

/** A request with the demo key, unless `init` has another. */
export function call(simulator: Simulator, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (!headers.has('authorization')) headers.set('authorization', `Bearer ${DEMO_KEY}`);
  if (init.body !== undefined && !headers.has('content-type'))
    headers.set('content-type', 'application/json');
  return fetch(`${simulator.url}${BASE_PATH}/${path}`, { ...init, headers });
}

export async function page(simulator: Simulator, path: string): Promise<Page> {
  return (await (await call(simulator, path)).json()) as Page;
}

/** Reads a list to its end; `between` runs after each page. */
export async function readAll(
  simulator: Simulator,
  path: string,
  between?: (pages: number) => void,
): Promise<Page[]> {
  const pages: Page[] = [];
  let cursor: string | null = null;
  do {
    const joint = path.includes('?') ? '&' : '?';
    const next: Page = await page(
      simulator,
      cursor === null ? path : `${path}${joint}cursor=${encodeURIComponent(cursor)}`,
    );
    pages.push(next);
    cursor = next.page.nextCursor;
    between?.(pages.length);
  } while (cursor !== null && cursor !== '' && pages.length < 1000);
  return pages;
}

export const idsOf = (pages: readonly Page[]): string[] =>
  pages.flatMap((one) => one.data.map((row) => String(row.id)));

export const iso = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
