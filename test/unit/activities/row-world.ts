import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ObjectStore, openStore } from '../../../src/lake/store/index.js';
import { RowService } from '../../support/row-service.js';

/** A service that rows are sent to, and a lake in a folder with their batch. */
export interface RowWorld {
  readonly store: ObjectStore;
  readonly service: RowService;
  close(): Promise<void>;
}

export async function openRowWorld(): Promise<RowWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-rows-'));
  const store = openStore({ url: `file://${folder}` } as Parameters<typeof openStore>[0]);
  const service = await RowService.start();
  return {
    store,
    service,
    async close() {
      await service.stop();
      store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
