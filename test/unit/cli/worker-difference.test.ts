import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { differenceText } from '../../../src/cli/shared/worker-config.js';
import type { WorkerDifference } from '../../../src/temporal/status/workers.js';

describe('a worker with another configuration of a connection', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'worktrack-files-'));
    writeFileSync(join(folder, 'worktrack.yaml'), '');
    symlinkSync(join(folder, 'worktrack.yaml'), join(folder, 'link.yaml'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const found = (more: Partial<WorkerDifference>): WorkerDifference => ({
    connection: 'acme',
    worker: `7@${hostname()}`,
    difference: { added: [], missing: [], keys: ['baseUrl'] },
    version: '0.2.0',
    loadedAt: 0,
    source: join(folder, 'worktrack.yaml'),
    ...more,
  });
  const text = (source: string, more: Partial<WorkerDifference> = {}): string =>
    differenceText(found(more), { source, now: 60_000 });

  it.each(['worktrack.yaml', 'link.yaml'])(
    'loads its file again if that is the file of the command: %s',
    (name) => {
      const source = relative(process.cwd(), join(folder, name));
      expect(text(source)).toContain(
        `To load its file again, run \`kill -HUP 7\` on ${hostname()}; or restart it.`,
      );
    },
  );

  it('is not told to load its file again if that is another file', () => {
    const other = text('/srv/acme/worktrack.yaml');
    expect(other).not.toContain('load its file again');
    expect(other).toContain(
      `The worker has another file. If both mean the same connection, use one file for both (--config ${folder}/worktrack.yaml). Otherwise rename the connection in one of them.`,
    );
  });

  it('may have a copy of the file on another machine', () => {
    const source = '/etc/worktrack/worktrack.yaml';
    expect(text('worktrack.yaml', { worker: '7@other', source })).toContain(
      "If both mean the same connection, replace the worker's file by this one, and run `kill -HUP 7` on other. Otherwise rename",
    );
    expect(text(source, { worker: '7@other', source })).toContain('To load its file again');
    expect(text('worktrack.yaml', { worker: 'blue', source })).toContain('and send it SIGHUP. Otherwise');
  });

  it('gets the connection in its file if it lacks it', () => {
    expect(text('/srv/acme/worktrack.yaml', { difference: null })).toContain(
      "it lacks this connection. Add the connection to the worker's file. Then run `kill -HUP 7`",
    );
  });
});
