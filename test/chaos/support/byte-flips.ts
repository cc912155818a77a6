import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSettings } from '../../../src/config/index.js';
import { openStore } from '../../../src/lake/store/index.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { writeFolderConfig } from '../../support/folder-config.js';
import { expectMirrored } from '../../support/mirrored.js';
import { seededRandom } from '../../support/random.js';
import { readPointer } from '../../support/snapshot.js';
import { startStack } from '../../support/stack.js';
import { fileIn, timeEntriesCsv, writeBack } from '../../support/write-back.js';

/** The results of the bit flips in one kind of object. */
export interface FlipRow {
  readonly kind: string;
  readonly objects: number;
  /** Bits that were flipped, one at a time, with a `verify` after each. */
  verified: number;
  noticedByVerify: number;
  /** Of these, those with an export after them. */
  exported: number;
  /** The export failed, and nothing was published. */
  stopped: number;
  /** The export published a snapshot that equals the service, record by record. */
  publishedRight: number;
  publishedWrong: number;
}

export interface FlipPlan {
  readonly seed: number;
  /** For each kind of object. */
  readonly flips: number;
  readonly exports: number;
}

/**
 * Flips one bit at a time in a file lake, where no store detects it, and checks the results of `verify` and of the next
 * export. The lake is restored after each flip.
 */
export async function runByteFlips({ seed, flips, exports }: FlipPlan): Promise<FlipRow[]> {
  const random = seededRandom(seed);
  const stack = await startStack({
    simulator: { awkward: false, counts: { tasks: 1500, 'time-entries': 5 } },
    resources: '[tasks, time-entries]',
    yaml: '    csv: { partSize: 128KiB }\n    writeBack: { time-entries: { path: time-entries } }\n',
  });
  const settings = loadSettings({ file: await writeFolderConfig(stack), env: {}, cwd: stack.folder });
  const lake = { ...stack, settings, store: openStore(settings.connections[0]!.lake) };
  const kept = await mkdtemp(join(tmpdir(), 'worktrack-flips-'));
  const putBack = async (): Promise<void> => {
    await rm(stack.lakeFolder, { recursive: true, force: true });
    await cp(kept, stack.lakeFolder, { recursive: true, preserveTimestamps: true });
  };
  try {
    await stack.startWorker(settings);
    const { admin } = stack.simulator;
    const touch = () =>
      admin.touch(
        'tasks',
        random.pick([
          { count: 5, pick: 'spread' },
          { count: 1, pick: 'newest' },
        ]),
      );
    for (let run = 0; run < 3; run++) {
      if (run > 0) touch();
      const { outcome } = await stack.export();
      if (outcome !== 'published') throw new Error(`the first export of the lake failed: ${outcome}`);
    }
    await writeBack(lake, { resource: 'time-entries', file: await fileIn(stack, timeEntriesCsv(20)) });
    await cp(stack.lakeFolder, kept, { recursive: true, preserveTimestamps: true });

    const { runId } = await readPointer(lake.store, 'tasks');
    const rows: FlipRow[] = [];
    for (const [kind, objects] of await objectsByKind(kept, runId)) {
      const row: FlipRow = {
        ...{ kind, objects: objects.length, verified: 0, noticedByVerify: 0 },
        ...{ exported: 0, stopped: 0, publishedRight: 0, publishedWrong: 0 },
      };
      rows.push(row);
      for (let flip = 0; flip < flips; flip++) {
        const path = random.pick(objects);
        const body = await readFile(join(kept, path));
        body[random.below(body.length)]! ^= 1 << random.below(8);
        await writeFile(join(stack.lakeFolder, path), body);
        row.verified++;
        if (!(await verifySnapshot(lake.store, 'tasks')).ok) row.noticedByVerify++;
        if (flip < exports) {
          touch();
          row.exported++;
          const { outcome } = await stack.export({ resources: ['tasks'], adopt: true });
          if (outcome !== 'published') row.stopped++;
          else if (await isMirrored(lake)) row.publishedRight++;
          else row.publishedWrong++;
          await putBack();
        } else {
          await cp(join(kept, path), join(stack.lakeFolder, path), { preserveTimestamps: true });
        }
      }
    }
    return rows;
  } finally {
    lake.store.close();
    await stack.stop();
    await rm(kept, { recursive: true, force: true });
  }
}

/** Of the resource `tasks`, and the receipts of write-backs. */
async function objectsByKind(folder: string, current: string): Promise<Map<string, string[]>> {
  const kinds = new Map<string, string[]>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name).slice(folder.length + 1);
    const kind = kindOf(path, path.includes(`run=${current}/`));
    if (kind !== null) kinds.set(kind, [...(kinds.get(kind) ?? []), path].sort());
  }
  return new Map([...kinds].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function kindOf(path: string, isCurrent: boolean): string | null {
  if (path === 'tasks/latest.json') return 'pointer';
  if (path.startsWith('_write-back/'))
    return path.endsWith('results.csv') ? 'receipts' : 'write-back input and logs';
  if (!path.startsWith('tasks/')) return null;
  if (!isCurrent) return 'objects of earlier runs';
  const tree = path.startsWith('tasks/snapshots/') ? 'snapshot' : 'change log';
  if (path.endsWith('_datapackage.json')) return `manifest of the ${tree}`;
  if (path.endsWith('.index.json')) return 'block index';
  return path.endsWith('.csv.gz') ? `part of the ${tree}` : null;
}

async function isMirrored(lake: Parameters<typeof expectMirrored>[0]): Promise<boolean> {
  try {
    await expectMirrored(lake, 'tasks');
    return true;
  } catch {
    return false;
  }
}

/** For people: a line for each kind. */
export function flipTable(rows: readonly FlipRow[]): string {
  const cells = rows.map((row) => [
    ...[row.kind, row.objects, row.verified, row.noticedByVerify, row.exported],
    ...[row.stopped, row.publishedRight, row.publishedWrong],
  ]);
  const header = ['object', 'objects', 'flips', 'verify', 'exports', 'stopped', 'right', 'wrong'];
  return [header, ...cells]
    .map((line) =>
      line.map((cell, at) => (at === 0 ? String(cell).padEnd(28) : String(cell).padStart(8))).join(''),
    )
    .join('\n');
}
