import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * Prometheus's promtool: `PROMTOOL`, or on `PATH`, or in the cache (`promtool-<version>/promtool`); `null` if there is
 * none. To install it: `go install -tags remove_all_sd github.com/prometheus/prometheus/cmd/promtool@v0.316.0`.
 */
export function findPromtool(): string | null {
  const cache = process.env.WORKTRACK_CACHE ?? join(homedir(), '.cache/temporal-worktrack');
  const cached = list(cache).filter((name) => name.startsWith('promtool-'));
  const places = [process.env.PROMTOOL, 'promtool', ...cached.map((name) => join(cache, name, 'promtool'))];
  return places.find((path) => path !== undefined && spawnSync(path, ['--version']).status === 0) ?? null;
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
