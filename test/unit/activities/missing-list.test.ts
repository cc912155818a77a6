import { describe, expect, it } from 'vitest';
import { temporaryLake } from '../lake/data-plane.js';
import { readList } from './reading.js';

const lake = temporaryLake();

describe('A list that answers with 404', () => {
  it.each([
    { path: 'tasks', says: 'It has had this list before' },
    { path: 'old-tasks', says: 'the service has no list at "tasks" (404). Correct the resource\'s `path`' },
  ])('was there before only if the snapshot is of the same path ($path)', async ({ path, says }) => {
    const before = {
      fullRead: null,
      list: { path },
      readUpTo: { workflow: Date.now(), service: null },
    } as never;
    const { error } = await readList({
      store: lake.store,
      run: { before },
      answer: () => ({ status: 404, message: 'Not found' }),
    });
    expect(error).toContain(says);
  });
});
