import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { mirrorEntries } from '../../support/entries-mirror.js';
import type { ActivityMirror } from '../../support/in-process-mirror.js';
import { readSnapshot } from '../../support/snapshot.js';

const HOUR = 3_600_000;

describe('A list that a cache between the service and the worker has kept', () => {
  let server: Server;
  let mirror: ActivityMirror;
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it.each(['keeps the Date', 'gives it a new Date'])(
    'marks no newer record as deleted, and hides no newer value in the end, if the cache %s',
    async (which) => {
      let now = Date.parse('2026-11-21T02:00:00Z');
      const records = new Map<string, { readonly version: number; readonly at: number }>();
      let kept: { readonly body: string; readonly at: number } | null = null;
      server = createServer((request, response) => {
        const since = new URL(request.url ?? '', 'http://service').searchParams.get('updatedSince');
        const listed = [...records].filter(([, { at }]) => since === null || at >= Date.parse(since));
        const data = listed.map(([id, { version }]) => ({ id, version }));
        const fresh = { body: JSON.stringify({ data, page: { limit: 1000, nextCursor: null } }), at: now };
        // The whole list has one URL, and that of changes is always another.
        if (since === null) kept ??= fresh;
        const { body, at } = since === null ? kept! : fresh;
        response.setHeader('date', new Date(which === 'keeps the Date' ? at : now).toUTCString());
        response.setHeader('age', String((now - at) / 1000));
        response.end(body);
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      mirror = await mirrorEntries(url, 'fetchById: false', { now: () => now });
      const rows = async () =>
        (await readSnapshot(mirror.store, 'entries')).rows.map((row) => [
          row.id,
          row.version,
          row._deleted_at,
        ]);
      for (const id of ['a', 'b', 'c']) records.set(id, { version: 1, at: now - 24 * HOUR });
      await mirror.run();
      now += HOUR;
      records.set('a', { version: 2, at: now });
      records.set('d', { version: 1, at: now });
      await mirror.run();
      const current = await rows();
      expect(current).toHaveLength(4);
      for (const request of [{ full: true }, {}, { reconcile: true }, {}]) {
        now += HOUR;
        await mirror.run(request);
        // A full read looks at nothing but the list; the next run reads all changes since the list was made.
        if (request.full !== true) expect(await rows()).toEqual(current);
      }
    },
  );
});
