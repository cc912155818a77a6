import { ApplicationFailure } from '@temporalio/activity';
import { expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import type { RunRef } from '../../../src/core/contract/index.js';
import { pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { encodePointer, type Pointer } from '../../../src/lake/documents/pointer.js';
import type { ActivityDeps } from '../../../src/run/deps.js';
import { failureInLake, orDisplaced } from '../../../src/run/run-failures.js';
import { Staging } from '../../../src/run/staging.js';
import { OLD_TIME, temporaryLake } from '../lake/data-plane.js';

const lake = temporaryLake();
const RUN: RunRef = { connection: 'acme', resource: 'tasks', runId: '20261121T020005Z-11111111' as RunId };

function head(runId: string, publishedAt: string): Pointer {
  return {
    resource: 'tasks',
    runId: runId as RunId,
    snapshot: `tasks/${runId}/_datapackage.json` as ObjectKey,
    changes: null,
    publishedAt,
    checkpoint: { updatedSince: OLD_TIME },
    rows: 1,
    connection: 'acme',
    baseUrl: 'https://tracker.example.com',
    writer: { workflow: '11111111-2222-3333-4444-555555555555', namespace: 'other' },
    manifests: { snapshot: 'a'.repeat(64), changes: null },
    rolledBack: null,
  };
}

it.each([
  ['began later', '20261121T020007Z-22222222', '2026-11-21T02:00:09.000Z', 'Displaced'],
  ['began in the same second', '20261121T020005Z-22222222', '2026-11-21T02:00:09.000Z', 'Displaced'],
  ['began earlier', '20261121T020003Z-22222222', '2026-11-21T02:00:09.000Z', 'Displaced'],
  ['was there when the run began', '20261121T020003Z-22222222', '2026-11-21T02:00:04.000Z', 'Lake'],
])('reports a missing staging folder when the published run %s', async (_, runId, publishedAt, type) => {
  await lake.store.write(pointerKey('tasks'), encodePointer(head(runId, publishedAt)));
  const deps = { connection: () => ({ store: lake.store }) } as unknown as ActivityDeps;
  const missing = await new Staging(lake.store, RUN, 1).journal().catch((failure: unknown) => failure);

  const error = await failureInLake(deps, RUN, missing, Date.now);

  expect(error).toBeInstanceOf(ApplicationFailure);
  expect((error as ApplicationFailure).type).toBe(type);
});

it.each([
  ['its own attempt', RUN.runId.replace(/.{8}$/, '22222222'), head('', '').writer, 'Lake'],
  [
    'a run of another mirror',
    RUN.runId.replace(/.{8}$/, '22222222'),
    { workflow: 'other', namespace: 'other' },
    'Displaced',
  ],
  ['a later run', '20261121T020007Z-22222222', head('', '').writer, 'Displaced'],
])(
  'a run in memory that finds %s in latest.json after a final error of the store',
  async (_, runId, writer, type) => {
    const pointer = head(runId, '2026-11-21T02:00:09.000Z');
    await lake.store.write(pointerKey('tasks'), encodePointer(pointer));
    const deps = { connection: () => ({ store: lake.store }) } as unknown as ActivityDeps;
    const lost = ApplicationFailure.nonRetryable('InvalidAccessKeyId', 'Lake');

    const error = await orDisplaced(deps, { ...RUN, writer }, lost);

    expect((error as ApplicationFailure).type).toBe(type);
  },
);
