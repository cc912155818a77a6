import { describe, expect, it } from 'vitest';
import type { RolledBack } from '../../../src/lake/documents/document-schemas.js';
import { countStillDropped } from '../../../src/run/publish/still-dropped.js';
import { temporaryLake } from '../lake/data-plane.js';
import { CSV } from '../lake/published.js';

describe('the records that a rollback has dropped', () => {
  const lake = temporaryLake();

  it('are counted without those of a change log that is not in the lake any more', async () => {
    const rollback = { rollbacks: [{ changes: 'tasks/changes/gone/_datapackage.json' }] };
    const { signal } = new AbortController();
    const snapshot = { parts: [], key: ['id'], csv: CSV };
    const rolledBack = rollback as unknown as RolledBack;
    expect(await countStillDropped(lake.store, rolledBack, snapshot, signal)).toBe(0);
  });
});
