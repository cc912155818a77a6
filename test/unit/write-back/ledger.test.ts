import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { type ObjectStore, openStore } from '../../../src/lake/store/index.js';
import {
  addClaim,
  type ClaimedState,
  ClaimRecords,
  claimedState,
  closeClaim,
  readClaim,
} from '../../../src/write-back/ledger/claim.js';
import {
  type LedgerEntry,
  listLedger,
  parseEntry,
  planEntryMerge,
  rowsKey,
  selectEntries,
  tidyLedger,
} from '../../../src/write-back/ledger/entries.js';
import { type FoundRow, lookUpRows } from '../../../src/write-back/ledger/look-up.js';
import { cellsHash, keyHash, type OwnState, RowHashes } from '../../../src/write-back/ledger/row-hashes.js';
import { encodeHeader, recordBytes, withCrc } from '../../../src/write-back/ledger/rows-object.js';
import { FindingCounter, problemOf } from '../../../src/write-back/ledger/turn.js';
import { TargetSystem } from '../../../src/write-back/system.js';
import { seededRandom } from '../../support/random.js';
import { rowsOf } from './support.js';

const RESOURCE = 'time-entries';
const HERE = new TargetSystem('https://tracker.example.com');
const TRIAL = 'https://trial.example.com';

/** Every fifth batch is sent to the trial system. */
const baseUrlOf = (batchId: string): string => (Number(batchId.slice(1)) % 5 === 0 ? TRIAL : HERE.baseUrl);

describe('the ledger of written rows', () => {
  let folder: string;
  let store: ObjectStore;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-ledger-'));
    store = openStore({ url: pathToFileURL(folder).href } as Parameters<typeof openStore>[0]);
  });
  afterEach(async () => {
    store.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** A row with a key and cells. */
  type Row = readonly [key: string | null, cells: string];

  function hashesOf(rows: readonly Row[]): RowHashes {
    const hashes = new RowHashes(rows[0]?.[0] !== null);
    for (const [key, cells] of rows)
      hashes.add(key === null ? null : keyHash('ref', key), keyHash('cells', cells), 'open');
    return hashes;
  }

  async function find(
    batchId: string,
    rows: readonly Row[],
    open: ClaimedState = 'doubtful',
    ownClaims: ReadonlySet<number> | null = null,
    system = HERE,
    hashes = hashesOf(rows),
  ) {
    const { listing, tally } = await lookUpRows(store, hashes, {
      resource: RESOURCE,
      batchId,
      ownClaims,
      system,
      stateOf: async () => () => open,
      signal: null,
    });
    return { listing, found: [...tally.find()] };
  }

  /** Claims rows of a batch after a look-up, and returns the number of the claim. */
  async function claim(
    batchId: string,
    rows: readonly Row[],
    wanted: (found: FoundRow) => boolean,
    { baseUrl } = HERE,
  ) {
    const hashes = hashesOf(rows);
    const { listing, found } = await find(batchId, rows);
    const records = ClaimRecords.sized(hashes.isKeyed, rows.length);
    for (const one of found) if (wanted(one)) records.add(hashes, one.row, one.wasDoubtful);
    const info = {
      token: `${batchId}-${listing.next}`,
      batchId,
      workflowId: batchId,
      namespace: 'default',
      plan: 'plan' as ObjectKey,
      turn: 'turn' as ObjectKey,
      isKeyed: hashes.isKeyed,
      baseUrl,
    };
    return { number: await addClaim(store, RESOURCE, listing, info, records), info, listing };
  }

  async function close(number: number, stateOf: (row: number) => ClaimedState): Promise<void> {
    await closeClaim(store, RESOURCE, await readClaim(store, RESOURCE, number), number, stateOf);
    await tidyLedger(store, RESOURCE);
  }

  const findings = ({ found }: { found: readonly FoundRow[] }) => found.map(({ finding }) => finding);

  it('finds keys that were written, changed, or may have been written, and no others', async () => {
    const rows: Row[] = [
      ['a', '1'],
      ['b', '2'],
      ['c', '3'],
      ['d', '4'],
    ];
    const first = await claim('one', rows, () => true);
    const open = await find('two', rows);
    expect(findings(open)).toEqual(Array(4).fill('doubtful'));
    // Of a claim, only its batch is kept.
    expect(open.found[0]!.by).toEqual({
      ...{ number: first.number, batchId: 'one', baseUrl: HERE.baseUrl, isKeyed: true, at: null },
    });
    const states: ClaimedState[] = ['written', 'written', 'doubtful', 'unsent'];
    await close(first.number!, (row) => states[row]!);
    const later: Row[] = [
      ['d', '4'],
      ['b', 'other'],
      ['c', 'other'],
      ['a', '1'],
      ['e', '1'],
    ];
    const { found } = await find('two', later);
    expect(found.map(({ finding }) => finding)).toEqual(['new', 'changed', 'doubtful', 'written', 'new']);
    expect(found[3]!.by).toMatchObject({ batchId: 'one' });
    // Its own rows are not those of an earlier batch.
    expect(findings(await find('one', rows))).toEqual(['own', 'own', 'new', 'new']);
    // Without a key column, the cells count.
    const plain = rows.map(([, cells]): Row => [null, cells]);
    expect(findings(await find('two', plain))).toEqual(['written', 'written', 'doubtful', 'new']);
  });

  it('finds rows with keys by their cells if they were written, or are being written, without keys', async () => {
    const plain = ['1', '2', '3', '4', '4'].map((cells): Row => [null, cells]);
    const first = await claim('one', plain, () => true);
    const rows: Row[] = [
      ['e', '5'],
      ['c', '3'],
      ['b', '2'],
      ['d', '4'],
      ['a', '1'],
    ];
    const open = ['new', 'doubtful', 'doubtful', 'doubtful', 'doubtful'];
    expect(findings(await find('two', rows))).toEqual(open);
    const states: ClaimedState[] = ['written', 'doubtful', 'unsent', 'unsent', 'written'];
    await close(first.number!, (row) => states[row]!);
    const { found } = await find('two', rows);
    expect(found.map(({ finding }) => finding)).toEqual(['new', 'new', 'doubtful', 'written', 'written']);
    expect(found[4]!.by).toMatchObject({ batchId: 'one' });
  });

  it('does not send a row of its own batch that may have been written, if the logs of the batch are gone', async () => {
    const rows: Row[] = [
      [null, 'same'],
      [null, 'same'],
      [null, 'other'],
    ];
    const first = await claim('one', rows, () => true);
    await close(first.number!, (row) => (row === 1 ? 'doubtful' : 'unsent'));
    const own = async (claims: number[]) =>
      (await find('one', rows, 'doubtful', new Set(claims))).found.map(({ finding, by, wasDoubtful }) => [
        finding,
        by,
        wasDoubtful,
      ]);
    // Its logs say when it was sent.
    expect(await own([first.number!])).toEqual([
      ['new', null, true],
      ['new', null, false],
      ['new', null, false],
    ]);
    // The folder of the batch was removed. No later claim clears the doubt.
    expect(await own([])).toEqual([
      ['doubtful', null, false],
      ['new', null, false],
      ['new', null, false],
    ]);
  });

  it('judges a row that is left as one that is sent, and ends no doubt but that of a row that may have been written', async () => {
    const row: Row = [null, 'same'];
    await close((await claim('one', [row], () => true)).number!, () => 'written');
    const rows = [row, row, row, row];
    await close((await claim('two', rows, ({ row: at }) => at === 2)).number!, () => 'doubtful');
    const stated = async (batchId: string, ...states: OwnState[]) => {
      const hashes = hashesOf(rows);
      for (const [at, state] of states.entries()) hashes.setState(at, state);
      return (await find(batchId, rows, 'doubtful', null, HERE, hashes)).found.map(
        ({ row: at, finding, wasDoubtful }) => [at, finding, wasDoubtful],
      );
    };
    expect(await stated('two', 'left', 'settled', 'doubtful', 'open')).toEqual([
      [0, 'written', false],
      [2, 'own', true],
      [3, 'new', false],
    ]);
    expect(await stated('two', 'left', 'settled', 'open', 'left')).toEqual([
      [0, 'written', false],
      [2, 'new', true],
      [3, 'new', false],
    ]);
    // Its rejection arrived after its claim was closed.
    expect(await stated('two', 'left', 'left', 'settled', 'left')).toEqual([
      [0, 'written', false],
      [1, 'new', false],
      [2, 'own', true],
      [3, 'new', false],
    ]);
  });

  it('counts equal rows: a copy more than those that were written is new', async () => {
    const row: Row = [null, 'same'];
    await close((await claim('one', [row, row], () => true)).number!, () => 'written');
    expect(findings(await find('two', [row, row, row]))).toEqual(['written', 'written', 'new']);
    await close(
      (await claim('two', [row, row, row], ({ finding }) => finding === 'new')).number!,
      () => 'written',
    );
    expect(findings(await find('three', Array(4).fill(row)))).toEqual([
      'written',
      'written',
      'written',
      'new',
    ]);
    expect(findings(await find('two', [row, row, row]))).toEqual(['own', 'written', 'written']);
  });

  it('lets one of several concurrent claims succeed', async () => {
    const rows: Row[] = [['a', '1']];
    const { listing, info } = await claim('none', rows, () => false);
    const hashes = hashesOf(rows);
    const tries = await Promise.all(
      Array.from({ length: 8 }, (_, at) => {
        const records = ClaimRecords.sized(true, 1);
        records.add(hashes, 0, false);
        const next = { ...listing, next: 2 };
        return addClaim(store, RESOURCE, next, { ...info, token: `t${at}` }, records);
      }),
    );
    expect(tries.filter((number) => number !== null)).toEqual([2]);
  });

  it('does not accept a claim whose number was used and merged meanwhile', async () => {
    const rows: Row[] = [['a', '1']];
    const late = await find('late', rows);
    for (let n = 0; n < 20; n++)
      await close((await claim(`b${n}`, [[`k${n}`, 'x']], () => true)).number!, () => 'written');
    const records = ClaimRecords.sized(true, 1);
    records.add(hashesOf(rows), 0, false);
    const info = { ...(await claim('none', rows, () => false)).info, token: 'late' };
    expect(await addClaim(store, RESOURCE, late.listing, info, records)).toBeNull();
    expect((await listLedger(store, RESOURCE)).next).toBe(22);
  });

  it('is not used with a damaged or a missing object', async () => {
    const rows: Row[] = [['a', '1']];
    const { number } = await claim('one', rows, () => true);
    await close(number!, () => 'written');
    await close((await claim('two', [['b', '1']], () => true)).number!, () => 'written');
    const key = rowsKey(RESOURCE, 1, 1);
    const body = await store.read(key);
    for (let at = 0; at < body.length; at += 3) {
      const damaged = Buffer.from(body);
      damaged[at]! ^= 1;
      await store.write(key, damaged);
      await expect(find('three', rows), `byte ${at}`).rejects.toThrow(/is damaged/);
    }
    for (const length of [0, 3, 10, body.length - 1]) {
      await store.write(key, body.subarray(0, length));
      await expect(find('three', rows), `${length} bytes`).rejects.toThrow(/is damaged/);
    }
    await store.remove([key]);
    await expect(find('three', rows)).rejects.toThrow(/has a gap/);
  });

  it('is not used with an object of another layout', async () => {
    await close((await claim('one', [['a', '1']], () => true)).number!, () => 'written');
    const records = Buffer.alloc(recordBytes(true));
    const section = { number: 1, batchId: 'one', at: 1, isKeyed: true, counts: [1, 0, 0, 0] };
    for (const [layout, remedy] of [
      [1, 'set a new `lake.url`'],
      [3, 'Upgrade worktrack.'],
    ] as const) {
      const header = encodeHeader({ layout, sections: [section] });
      await store.write(rowsKey(RESOURCE, 1, 1), withCrc([header, records]));
      const refused = expect.objectContaining({
        code: 'LAKE_LAYOUT',
        remedy: expect.stringContaining(remedy),
      });
      await expect(find('two', [['a', '1']])).rejects.toEqual(refused);
    }
  });

  it.each([true, false])('knows rows that were sent to another address (with keys: %s)', async (isKeyed) => {
    const rows = ['1', '2', '3'].map((cells): Row => [isKeyed ? `k${cells}` : null, cells]);
    const trial = new TargetSystem(TRIAL);
    const first = await claim('one', rows, () => true, trial);
    const at = async (system: TargetSystem) => findings(await find('two', rows, 'doubtful', null, system));
    expect(await at(HERE)).toEqual(['elsewhere', 'elsewhere', 'elsewhere']);
    const states: ClaimedState[] = ['written', 'doubtful', 'unsent'];
    await close(first.number!, (row) => states[row]!);
    const known = ['written', 'doubtful', 'new'];
    expect(await at(trial)).toEqual(known);
    expect(await at(HERE)).toEqual(['elsewhere', 'elsewhere', 'new']);
    expect(await at(new TargetSystem(HERE.baseUrl, [TRIAL]))).toEqual(known);
    expect(await at(new TargetSystem(HERE.baseUrl, [], 'same'))).toEqual(known);
    expect(await at(new TargetSystem(HERE.baseUrl, [], 'other'))).toEqual(['new', 'new', 'new']);
    // Once it was written here, the other address does not matter.
    const other = new TargetSystem(HERE.baseUrl, [], 'other');
    expect((await claim('two', rows, () => true, other)).number).toBe(2);
    await close(2, () => 'written');
    expect(findings(await find('three', rows))).toEqual(['written', 'written', 'written']);
  });

  it('names both addresses and what to do about rows that were sent to another one', () => {
    const found = new FindingCounter();
    const by = { number: 1, batchId: 'one', at: 5, baseUrl: TRIAL };
    found.add({ row: 6, finding: 'elsewhere', by, wasDoubtful: false });
    const { baseUrl } = HERE;
    for (const policy of ['skip', 'stop'] as const)
      expect(problemOf(found.result(true, 9), { policy, baseUrl }, String)).toEqual({
        problem: `1 of 9 keys was sent to ${TRIAL} by batch one (5), and baseUrl is now ${baseUrl} (the first is row 7)`,
        remedy: expect.stringMatching(/^Use --same-system if .*--other-system if/),
      });
    expect(problemOf(found.result(true, 9), { policy: 'again', baseUrl }, String)).toBeNull();
  });

  it.each(['same', 'other'] as const)(
    'agrees with what happened in random histories of batches that overlap, stop and repeat (other addresses: %s)',
    async (policy) => {
      const seed = Number(process.env.WORKTRACK_SEED ?? 1);
      const random = seededRandom(seed);
      /** What the service has, or may have: by batch and row. */
      const truth = new Map<string, Map<string, { row: Row; state: ClaimedState }>>();
      for (let round = 0; round < 40; round++) {
        const batchId = `b${random.below(30)}`;
        const isKeyed = Number(batchId.slice(1)) % 2 === 0;
        // A batch has the same rows each time.
        const rowRandom = seededRandom(Number(batchId.slice(1)) + 1000 * seed);
        const rows = Array.from({ length: 1 + rowRandom.below(12) }, (_, n): Row => {
          const cells = `c${rowRandom.below(8)}`;
          return [isKeyed ? `k${n + rowRandom.below(2) * 12}` : null, cells];
        });
        const own = truth.get(batchId) ?? new Map();
        truth.set(batchId, own);
        const known = hashesOf(rows);
        for (const row of rows.keys())
          if (own.get(`${row}`)?.state === 'written') known.setState(row, 'written');
        const { listing, tally } = await lookUpRows(store, known, {
          resource: RESOURCE,
          batchId,
          ownClaims: null,
          system: new TargetSystem(baseUrlOf(batchId), [], policy),
          stateOf: async () => () => 'doubtful' as const,
          signal: null,
        });
        const isHere = (id: string): boolean => policy === 'same' || baseUrlOf(id) === baseUrlOf(batchId);
        const others = [...truth].flatMap(([id, all]) =>
          id === batchId || !isHere(id) ? [] : [...all.values()],
        );
        const found = [...tally.find()];
        const used = new Map<string, number>();
        const take = (kind: string, cells: string, there: number): boolean => {
          const before = used.get(`${kind}${cells}`) ?? 0;
          used.set(`${kind}${cells}`, before + 1);
          return before < there;
        };
        for (const { row, finding } of found) {
          const [key, cells] = rows[row]!;
          const same = others.filter(({ row: other }) => (isKeyed ? other[0] === key : other[1] === cells));
          const written = same.filter(({ state }) => state === 'written');
          const doubtful = same.filter(({ state }) => state === 'doubtful').length;
          let expected = 'new';
          if (isKeyed && written.length > 0)
            expected = written.some(({ row: other }) => other[1] === cells) ? 'written' : 'changed';
          else if (!isKeyed && take('w', cells, written.length)) expected = 'written';
          else if (isKeyed ? doubtful > 0 : take('d', cells, doubtful)) expected = 'doubtful';
          else if (isKeyed) {
            const plain = others.filter(({ row: other }) => other[0] === null && other[1] === cells);
            const count = (wanted: ClaimedState) => plain.filter(({ state }) => state === wanted).length;
            if (take('w', cells, count('written'))) expected = 'written';
            else if (take('d', cells, count('doubtful'))) expected = 'doubtful';
          }
          expect(finding, `seed ${seed}, round ${round}, ${batchId}, row ${row}`).toBe(expected);
        }
        const isAgain = random.below(4) === 0;
        const sent = found.filter(({ finding }) => isAgain || finding === 'new');
        const hashes = hashesOf(rows);
        const records = ClaimRecords.sized(isKeyed, rows.length);
        for (const one of sent) records.add(hashes, one.row, one.wasDoubtful);
        const info = {
          token: `${round}`,
          batchId,
          workflowId: '',
          namespace: '',
          isKeyed,
          baseUrl: baseUrlOf(batchId),
        };
        const keys = { plan: 'p' as ObjectKey, turn: 't' as ObjectKey };
        const number = await addClaim(store, RESOURCE, listing, { ...info, ...keys }, records);
        expect(number).toBe(listing.next);
        const states = new Map(
          sent.map(({ row, wasDoubtful }) => {
            const outcomes = ['written', 'doubtful', 'unsent'] as const;
            const state = random.pick(outcomes);
            // A row that was in doubt and was not sent again stays in doubt.
            return [row, wasDoubtful && random.below(2) === 0 ? 'doubtful' : state] as const;
          }),
        );
        for (const [row, state] of states) own.set(`${row}`, { row: rows[row]!, state });
        await close(number!, (row) => states.get(row)!);
      }
      const { entries } = await listLedger(store, RESOURCE);
      expect(entries.length).toBe(4);
      expect(entries.at(-1)!.last).toBe(40);
    },
  );
});

describe('a claimed row', () => {
  const receipt = (outcome: 'created' | 'updated' | 'rejected' | 'skipped') => ({
    receipt: { outcome, status: null, id: null, message: null },
    sentAt: null,
  });
  const inDoubt = { receipt: null, sentAt: 5 };
  const unsent = { receipt: null, sentAt: null };

  it.each<[row: Parameters<typeof claimedState>[0], running: ClaimedState, ended: ClaimedState]>([
    [receipt('created'), 'written', 'written'],
    [receipt('updated'), 'written', 'written'],
    [receipt('rejected'), 'unsent', 'unsent'],
    // It was in doubt when a user has settled it.
    [receipt('skipped'), 'doubtful', 'doubtful'],
    [{ ...inDoubt, receipt: { ...receipt('rejected').receipt, byHand: true } }, 'doubtful', 'doubtful'],
    [inDoubt, 'doubtful', 'doubtful'],
    [unsent, 'doubtful', 'unsent'],
  ])(
    'hides no row that may have been written: %j is %s while its batch runs, and then %s',
    (row, ...states) => {
      expect([claimedState(row, undefined, true), claimedState(row, undefined, false)]).toEqual(states);
    },
  );
});

describe('the objects of the ledger', () => {
  const entry = (first: number, last: number, kind: LedgerEntry['kind'] = 'rows'): LedgerEntry => ({
    ...parseEntry(rowsKey(RESOURCE, last, last - first + 1))!,
    kind,
  });
  const ranges = (found: LedgerEntry[]) =>
    selectEntries(found)?.entries.map(({ first, last }) => [first, last]) ?? null;

  it('are selected so that each entry is there once, whatever merges have left', () => {
    expect(ranges([])).toEqual([]);
    const singles = Array.from({ length: 18 }, (_, at) => entry(at + 1, at + 1));
    expect(ranges([...singles.slice(0, 17), entry(18, 18, 'claim')])).toHaveLength(18);
    // A merge has not removed all of what it has replaced.
    const merged = [entry(1, 16), entry(17, 17), entry(18, 18, 'claim')];
    for (const left of [[], singles.slice(3, 9), singles.slice(0, 16)])
      expect(ranges([...left, ...merged])).toEqual([
        [1, 16],
        [17, 17],
        [18, 18],
      ]);
    // Claims that arrived when their numbers were long used and merged.
    for (const late of [5, 16, 17]) expect(ranges([...merged, entry(late, late, 'claim')])).toHaveLength(3);
    expect(ranges([entry(1, 1), entry(3, 3)])).toBeNull();
    expect(ranges([entry(2, 2)])).toBeNull();
    expect(ranges([entry(17, 32)])).toBeNull();
  });

  it('are merged so that there are few of them, and each row is copied only a few times', () => {
    let entries: LedgerEntry[] = [];
    let copied = 0;
    for (let n = 1; n <= 5000; n++) {
      entries.push(entry(n, n));
      const merged = planEntryMerge(entries);
      if (merged === null) continue;
      const [first, last] = [merged[0]!.first, merged.at(-1)!.last];
      copied += last - first + 1;
      entries = [
        ...entries.slice(0, entries.indexOf(merged[0]!)),
        entry(first, last),
        ...entries.slice(entries.indexOf(merged.at(-1)!) + 1),
      ];
      expect(entries.length).toBeLessThan(3 * 7);
      expect(ranges(entries)).not.toBeNull();
    }
    expect(copied / 5000).toBeLessThan(7);
  });

  it('are merged around a claim that stays open', () => {
    const open = 20;
    const entries = Array.from({ length: 64 }, (_, at) =>
      entry(at + 1, at + 1, at + 1 === open ? 'claim' : 'rows'),
    );
    for (let merged = planEntryMerge(entries); merged !== null; merged = planEntryMerge(entries))
      entries.splice(
        entries.indexOf(merged[0]!),
        merged.length,
        entry(merged[0]!.first, merged.at(-1)!.last),
      );
    expect(ranges(entries)).toEqual([
      [1, 16],
      ...[17, 18, 19, 20].map((n) => [n, n]),
      ...[21, 25, 29].map((n) => [n, n + 3]),
      [33, 48],
      [49, 64],
    ]);
  });
});

describe('the hash of the cells', () => {
  const hashes = async (text: string, format: 'csv' | 'ndjson' = 'csv') =>
    (await rowsOf(text, format)).map(({ fields }) => cellsHash(fields).toString('hex'));

  it('depends on what is sent, and not on how the file is written', async () => {
    const [row] = await hashes('a,b:integer,c:boolean,d\nx,60,true,"one\ntwo"\n');
    const same: [string, ('csv' | 'ndjson')?][] = [
      ['a,b:integer,c:boolean,d\r\nx,60,true,"one\r\ntwo"\r\n'],
      ['d,c:boolean,b:integer,a\n"one\rtwo",TRUE,60,"x"\n'],
      ['a,b,c,d\nx,60,TRUE,"one\ntwo"\n'],
      ['a,b,c,d,e,f\nx,60,true,"one\ntwo",,""\n'],
      ['{"d":"one\\ntwo","c":true,"b":60,"a":"x","e":null}\n', 'ndjson'],
      ['{"a":"\\u0078","b":"60","c":"true","d":"one\\r\\ntwo"}\r\n', 'ndjson'],
    ];
    for (const [text, format] of same) expect(await hashes(text, format), text).toEqual([row]);
    const others = [
      'a,b,c,d\nx,60,true,one two\n',
      'a,b,c,d\nx,60.0,true,"one\ntwo"\n',
      'a,b,c\nx,60,true\n',
      'b,a,c,d\nx,60,true,"one\ntwo"\n',
      'a,b,c,d\nX,60,true,"one\ntwo"\n',
      'a,b,c,d\n x,60,true,"one\ntwo"\n',
    ];
    for (const text of others) expect(await hashes(text), text).not.toEqual([row]);
  });

  it('of an object or a list is the same whatever the order of its members, its escapes and its format', async () => {
    const [row] = await hashes('{"p":{"id":7,"name":"Müller","in":[{"x":"a/b","y":1.0}]}}\n', 'ndjson');
    const same: [string, 'csv' | 'ndjson'][] = [
      ['{"p": {"name": "M\\u00fcller", "in": [ {"y": 1.0, "x": "a\\/b"} ], "id": 7}}\n', 'ndjson'],
      ['p:json\n"{""id"":7,""in"":[{""y"":1.0,""x"":""a/b""}],""name"":""Müller""}"\n', 'csv'],
      ['p\n"{""id"": 7, ""in"": [{""y"":1.0,""x"":""a/b""}], ""name"": ""Müller""}"\n', 'csv'],
    ];
    for (const [text, format] of same) expect(await hashes(text, format), text).toEqual([row]);
    const others = [
      '{"p":{"id":7,"name":"Müller","in":[{"x":"a/b","y":1}]}}\n',
      '{"p":{"id":7,"name":"Muller","in":[{"x":"a/b","y":1.0}]}}\n',
      '{"p":{"id":7,"in":[{"x":"a/b","y":1.0}]}}\n',
    ];
    for (const text of others) expect(await hashes(text, 'ndjson'), text).not.toEqual([row]);
    const texts = await hashes('p\n[A-1] x\n"[A-1]  x"\n{\n"[1,2]"\n"[2,1]"\n');
    expect(new Set(texts).size).toBe(5);
    const [lf, crlf] = await hashes('p\n"[A-1] x\ny"\n"[A-1] x\r\ny"\n');
    expect(crlf).toBe(lf);
    const [first, last] = await hashes('p:json\n"{""a"":1,""a"":2}"\n"{""a"":2,""a"":1}"\n');
    expect(last).not.toBe(first);
  });

  it.each([999, 5_000, 100_000])('keeps texts with %i brackets apart', async (count) => {
    const open = '['.repeat(count);
    const [row, closed, same] = await hashes(`p\n${open}\n${open}${']'.repeat(count)}\n${open}\n`);
    expect(same).toBe(row);
    expect(closed).not.toBe(row);
  });

  it('keeps characters outside ASCII apart', async () => {
    expect((await hashes('a\né\n'))[0]).toBe((await hashes('{"a":"\\u00e9"}', 'ndjson'))[0]);
    expect((await hashes('a\né\n'))[0]).not.toBe((await hashes('a\nè\n'))[0]);
  });
});
