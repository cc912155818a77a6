import { openStore, readRecords, readSnapshotAt, type Settings, selectConnection } from 'temporal-worktrack';

export interface WarehouseActivities {
  /** Loads the rows of a snapshot, and returns their number. */
  loadSnapshot(connection: string, snapshot: string): Promise<number>;
}

/** The activities of `loadWarehouse`. Record data stays in activities and never enters a workflow. */
export function createWarehouseActivities(settings: Settings): WarehouseActivities {
  return {
    async loadSnapshot(connection, snapshot) {
      const store = openStore(selectConnection(settings, connection).lake);
      try {
        const manifest = await readSnapshotAt(store, snapshot);
        const ids = new Set<string>();
        // Here, an application would copy the row to its warehouse.
        for await (const { id } of readRecords(store, manifest)) if (typeof id === 'string') ids.add(id);
        return ids.size;
      } finally {
        store.close();
      }
    },
  };
}
