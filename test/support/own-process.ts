import { afterAll, vi } from 'vitest';
import { endHosts } from './command-hosts.js';
import { runScriptsWithoutThreads } from './unlimited-scripts.js';

runScriptsWithoutThreads();

// Files of integration tests share a process, so each leaves its environment and its globals as they were.
const before = { ...process.env };

afterAll(() => {
  endHosts();
  vi.restoreAllMocks();
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
});
