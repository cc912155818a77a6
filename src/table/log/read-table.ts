import { inParallel } from '../../core/in-parallel.js';
import { damagedObject } from '../../lake/damaged-error.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { type Action, decodeCommit } from './actions.js';
import { type CheckpointHint, decodeCheckpoint, hintOf } from './checkpoint.js';
import { checkpointKey, commitKey, logPrefix, parseLogName } from './names.js';
import type { LogObject } from './retention.js';
import { type Shown, shownBy, TableState } from './state.js';

const READS_AT_ONCE = 8;

/** A table as its log describes it. */
export interface Table {
  /** The newest version. */
  readonly state: TableState;
  /** Commits and checkpoints in the log. */
  readonly log: readonly LogObject[];
  /** What our commits since the newest checkpoint show, oldest first. */
  readonly commits: readonly Shown[];
  /** Version of the newest checkpoint; -1 if there is none. */
  readonly checkpoint: number;
  /** What `_last_checkpoint` says of the newest checkpoint; `null` if there is none. */
  readonly hint: CheckpointHint | null;
}

/**
 * Reads the newest version of a table: the newest checkpoint and the commits after it. An empty log gives version -1.
 *
 * @throws DamagedError if the log has a gap or cannot be read; StoreError if the store fails
 */
export async function readTable(store: ObjectStore, resource: string): Promise<Table> {
  const log: LogObject[] = [];
  const prefix = logPrefix(resource);
  for await (const { key, modifiedAt } of store.list(prefix)) {
    const name = parseLogName(key.slice(prefix.length));
    if (name !== null) log.push({ ...name, modifiedAt });
  }
  const versionsOf = (kind: LogObject['kind']): number[] =>
    log.filter((object) => object.kind === kind).map(({ version }) => version);
  const checkpoint = Math.max(-1, ...versionsOf('checkpoint'));
  const commits = versionsOf('commit')
    .filter((version) => version > checkpoint)
    .sort((a, b) => a - b);
  const from = await readCheckpoint(store, resource, checkpoint, new Set(versionsOf('commit')));
  let { state } = from;
  const bodies = await inParallel(commits, READS_AT_ONCE, (version) => readCommit(store, resource, version));
  for (const [at, version] of commits.entries()) {
    if (version !== state.version + 1)
      throw damagedObject(
        commitKey(resource, state.version + 1),
        'it is missing, although later commits exist',
      );
    state = state.after(version, bodies[at]!);
  }
  const shown = bodies.flatMap((actions, at) => actions.flatMap((one) => shownBy(one, commits[at]!) ?? []));
  return { state, log, commits: shown, checkpoint, hint: from.hint };
}

async function readCheckpoint(
  store: ObjectStore,
  resource: string,
  version: number,
  commits: ReadonlySet<number>,
): Promise<Pick<Table, 'state' | 'hint'>> {
  if (version === -1) return { state: new TableState(), hint: null };
  const key = checkpointKey(resource, version);
  const body = await store.read(key);
  const actions = await decodeCheckpoint(body).catch((cause: unknown) => {
    if (cause instanceof Error && cause.name === 'ConfigurationError') throw cause;
    throw damagedObject(key, 'it is not a checkpoint of a Delta table', cause);
  });
  // A checkpoint does not say which run it shows; our last commit does. Later ones are of other programs.
  let shown: Shown | null = null;
  for (let at = version; shown === null && commits.has(at); at--)
    for (const action of await readCommit(store, resource, at)) shown = shownBy(action, at) ?? shown;
  const state = new TableState({ shown }).after(version, actions);
  return { state, hint: hintOf(state, actions.length, body.length) };
}

async function readCommit(store: ObjectStore, resource: string, version: number): Promise<Action[]> {
  const key = commitKey(resource, version);
  const body = await store.read(key);
  try {
    return decodeCommit(body);
  } catch (cause) {
    throw damagedObject(key, 'it is not a commit of a Delta table', cause);
  }
}
