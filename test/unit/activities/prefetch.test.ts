import diagnostics from 'node:diagnostics_channel';
import { describe, expect, it, onTestFinished } from 'vitest';
import { NOTHING_READ } from '../../../src/core/list-evidence.js';
import { PageChain } from '../../../src/run/read/page-chain.js';
import { PageReader } from '../../../src/run/read/page-reader.js';
import { client, HTTP, json, service } from '../api/support.js';
import { RUN } from './run.js';

const PAGES = 6;

describe('The request for the next page', () => {
  it('is sent before the current page is read, which blocks the event loop', async () => {
    const { url } = await service((_, response, count) =>
      json(response, 200, {
        data: [{ id: `k${count}` }],
        page: { limit: 1, nextCursor: count < PAGES ? `c${count}` : null },
      }),
    );
    let sent = 0;
    const onSent = () => void sent++;
    diagnostics.subscribe('undici:client:sendHeaders', onSent);
    onTestFinished(() => void diagnostics.unsubscribe('undici:client:sendHeaders', onSent));
    const sentBeforeReading: number[] = [];
    const reader = new PageReader(RUN, []);
    const watched = {
      read: (body: Parameters<PageReader['read']>[0]) => {
        sentBeforeReading.push(sent);
        return reader.read(body);
      },
    } as PageReader;
    const chain = new PageChain(
      {
        // One connection, so that no request waits for another one to open.
        client: client(url, { http: { ...HTTP, concurrency: 1 } }),
        run: RUN,
        reader: watched,
        signal: new AbortController().signal,
        now: Date.now,
        evidence: NOTHING_READ,
        upTo: null,
        onWait: () => {},
        mustEnd: () => false,
      },
      { cursor: null, updatedSince: null, chain: 0, restarts: 0, shrinks: 0, pageSize: 1 },
      new Set(),
    );
    while (!(await chain.next()).done);
    expect(sentBeforeReading).toEqual([2, 3, 4, 5, 6, 6]);
  });
});
