import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { mirrorEntries } from '../../support/entries-mirror.js';
import { readSnapshot } from '../../support/snapshot.js';

const HOUR = 3_600_000;
/** How long the service takes to answer the first request. It reads its records at the beginning of this time. */
const TAKES_MS = 3000;

/** How far the service is behind Temporal, and the value of `sync.clock`. */
const CLOCKS = {
  'the service alone gives the time': { behind: 0, clock: 'service' },
  'the service is behind Temporal': { behind: HOUR, clock: 'earliest' },
} as const;

describe('a service that needs longer than the overlap to answer', () => {
  it.each(Object.entries(CLOCKS))(
    'hides no change that it makes meanwhile, where %s',
    async (_, { behind, clock }) => {
      const now = (): number => Date.now() - behind;
      const record = { id: 'a', hours: 1, updatedAt: now() - HOUR };
      let requests = 0;
      const server = createServer(async (request, response) => {
        const url = new URL(request.url ?? '', 'http://service');
        const since = Date.parse(url.searchParams.get('updatedSince') ?? '1970-01-01T00:00:00Z');
        const data = JSON.stringify(record.updatedAt >= since ? [record] : []);
        if (requests++ === 0) {
          Object.assign(record, { hours: 2, updatedAt: now() });
          await delay(TAKES_MS);
        }
        response.setHeader('date', new Date(now()).toUTCString());
        response.end(`{"data":${data},"page":{"limit":1000,"nextCursor":null}}`);
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      const mirror = await mirrorEntries(`http://127.0.0.1:${port}`, 'fetchById: false', {
        connection: `sync: { clock: ${clock}, overlap: 1s }`,
        now: () => Date.now(),
      });
      try {
        await mirror.run();
        await mirror.run();
        expect((await readSnapshot(mirror.store, 'entries')).rows).toMatchObject([{ id: 'a', hours: '2' }]);
      } finally {
        server.close();
      }
    },
  );
});
