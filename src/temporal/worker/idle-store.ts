import type { ObjectStore, ObjectWriter, WrittenObject } from '../../lake/store/index.js';
import type { IdleResource } from './idle-resource.js';

/** A store that is open while it is used. */
export function idleStore(store: IdleResource<ObjectStore>): ObjectStore {
  let url: string | null = null;
  return {
    get url() {
      if (url === null) {
        url = store.acquire().url;
        store.release();
      }
      return url;
    },
    read: (...args) => store.use((opened) => opened.read(...args)),
    readIfExists: (...args) => store.use((opened) => opened.readIfExists(...args)),
    stream: (...args) => iterate(store, (opened) => opened.stream(...args)),
    write: (...args) => store.use((opened) => opened.write(...args)),
    openWriter: (...args) => idleWriter(store, store.acquire().openWriter(...args)),
    swap: (...args) => store.use((opened) => opened.swap(...args)),
    head: (...args) => store.use((opened) => opened.head(...args)),
    list: (...args) => iterate(store, (opened) => opened.list(...args)),
    listFolders: (...args) => store.use((opened) => opened.listFolders(...args)),
    copy: (...args) => store.use((opened) => opened.copy(...args)),
    remove: (...args) => store.use((opened) => opened.remove(...args)),
    abortUploads: (...args) => store.use((opened) => opened.abortUploads(...args)),
    probeConditionalWrites: () => store.use((opened) => opened.probeConditionalWrites()),
    probeUploads: () => store.use((opened) => opened.probeUploads()),
    close: () => void store.close(),
  };
}

async function* iterate<T>(
  store: IdleResource<ObjectStore>,
  begin: (opened: ObjectStore) => AsyncIterable<T>,
): AsyncGenerator<T> {
  const opened = store.acquire();
  try {
    yield* begin(opened);
  } finally {
    store.release();
  }
}

/** A writer that keeps the store open until it has finished or failed. */
function idleWriter(store: IdleResource<ObjectStore>, writer: ObjectWriter): ObjectWriter {
  let isReleased = false;
  const release = (): void => {
    if (!isReleased) store.release();
    isReleased = true;
  };
  const orRelease = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      release();
      throw error;
    }
  };
  return {
    get bytes() {
      return writer.bytes;
    },
    write: (...args) => orRelease(writer.write(...args)),
    finish: (): Promise<WrittenObject> => orRelease(writer.finish()).finally(release),
    abort: () => writer.abort().finally(release),
  };
}
