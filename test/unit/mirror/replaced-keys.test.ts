import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import { DEMO_KEY, startSimulator } from '../../../src/simulator/index.js';
import { REPLACED_KEY } from '../../../src/simulator/simulator-options.js';
import { ActivityMirror } from '../../support/in-process-mirror.js';

describe('A key file that is replaced after its key is revoked', () => {
  it.each([true, false])('ends the wait of a run that began with the old key (full: %s)', async (full) => {
    const service = await startSimulator({ counts: { tasks: 30 }, awkward: false, odd: ['key-replaced'] });
    const folder = await mkdtemp(join(tmpdir(), 'worktrack-keys-'));
    const file = join(folder, 'key');
    await writeFile(file, DEMO_KEY);
    const text = `connections:
  acme:
    baseUrl: ${service.url}
    apiKey: { file: "${file}" }
    lake: { url: "${pathToFileURL(join(folder, 'lake')).href}" }
    sync: { pageSize: 10 }
    resources: [tasks]
`;
    const mirror = new ActivityMirror(parseSettings(text, 'worktrack.yaml'), 'tasks');
    onTestFinished(async () => {
      await mirror.close();
      await service.close();
      await rm(folder, { recursive: true, force: true });
    });
    await mirror.run();
    service.admin.create('tasks', { title: 'New' });
    service.admin.resetStats();
    const run = mirror.run({ full });
    // The first request gets 401.
    await expect.poll(() => service.admin.stats().requests).toBe(1);
    await writeFile(file, REPLACED_KEY);
    expect((await run).counts.inserted).toBe(1);
  });
});
