import { isAscii as bufferIsAscii } from 'node:buffer';
import { createHash } from 'node:crypto';
import { toByteString } from '../core/brands.js';
import {
  type InputFormat,
  type InputReading,
  WRITABLE_RESOURCES,
  type WritableResource,
} from '../core/contract/write-back.js';
import { InputError } from '../core/input-error.js';
import type { ConnectionSettings } from '../core/settings.js';
import type { ObjectStore } from '../lake/store/index.js';
import { checkBatch, continuedBatch, readBatch, textColumns } from './batch-file.js';
import { checkBatchId } from './batch-layout.js';
import { CORRECTION_COLUMNS, type InputRow } from './fields.js';
import {
  type InputColumn,
  mixedColumns,
  publishedSnapshotOf,
  sentNames,
  unpublishedColumns,
} from './input-columns.js';
import { HEAD_BYTES, markOf } from './input-format.js';
import type { InputProblems } from './input-problems.js';
import { readInputRows } from './input-rows.js';
import type { InputSource } from './input-source.js';
import { FileRows } from './ledger/row-hashes.js';
import { type OpenedInput, openInput, type WriteBackSource } from './open-input.js';
import { batchKind, type SendingRules, sendingOf } from './plan-file.js';
import { BatchPlanner, inputRowKey } from './planner.js';
import {
  type BeforeWindow,
  checkForms,
  checkMasks,
  collectForms,
  PublishedIds,
  WindowCheck,
} from './published-checks.js';
import { InputFacts } from './reading.js';
import { type InputBytes, type LakeCsv, resolveReading } from './resolve-reading.js';
import { readTargetSystem, type TargetSystem } from './system.js';

export type { WriteBackSource };

/** An input that was read completely and is valid. */
export interface CheckedInput {
  readonly resource: WritableResource;
  readonly batchId: string;
  readonly format: InputFormat;
  readonly keyColumn: string | null;
  /** Where its rows are sent. */
  readonly system: TargetSystem;
  readonly rows: number;
  readonly lastWins: boolean;
  readonly skipUnchanged: boolean;
  /** How the rows of the batch are sent. */
  readonly sending: SendingRules;
  /** Rows that the resource's list will not show; `null` if there are none. */
  readonly beforeWindow: BeforeWindow | null;
  /** The hashes of the rows, to look them up; `null` for upserts. */
  readonly fileRows: FileRows | null;
  /** Columns of a CSV, with the types of their cells in requests. */
  readonly columns: readonly InputColumn[];
  /** How the input is read. */
  readonly reading: InputReading;
  readonly facts: InputFacts;
  /** Columns of a CSV whose published values have several types; they are sent as text. */
  readonly mixed: readonly string[];
  /** Columns of a CSV that no published row has had; empty if nothing is published. */
  readonly unpublished: readonly string[];
  /** Of the content. */
  readonly sha256: string;
  /** The settings that change what is sent, as text; `''` without any. */
  readonly settings: string;
  readonly source: InputSource;
  /** Reads the rows again. */
  eachRow(): AsyncGenerator<readonly InputRow[]>;
}

/** @throws InputError for a resource that is not writable */
export function writableResource(name: string): WritableResource {
  const found = WRITABLE_RESOURCES.find((one) => one === name);
  if (found !== undefined) return found;
  throw new InputError(`resource ${JSON.stringify(name)} is not writable`, {
    remedy: `The API accepts ${WRITABLE_RESOURCES.join(' and ')}.`,
  });
}

/**
 * Reads an input completely and checks it, with a few rows in memory. Sends and writes nothing.
 *
 * @param problems collects errors of cells, rows and settings. Default: the first one is thrown
 * @throws InputError for an input that does not match its format, with line and column; StoreError if the lake, which
 *   has the types of columns, cannot be read
 */
export async function checkWriteBack(
  connection: ConnectionSettings,
  store: ObjectStore,
  request: WriteBackSource,
  problems: InputProblems | null = null,
): Promise<CheckedInput> {
  const resource = writableResource(request.resource);
  const given =
    request.batchId === undefined ? null : await continuedBatch(store, checkBatchId(request.batchId));
  const opened = await openInput(request, connection, resource);
  try {
    return await checkSource(connection, store, request, { ...opened, resource, batch: given, problems });
  } catch (error) {
    opened.source.close();
    throw error;
  }
}

async function checkSource(
  connection: ConnectionSettings,
  store: ObjectStore,
  request: WriteBackSource,
  opened: OpenedInput & {
    readonly resource: WritableResource;
    /** The batch id of the request. */
    readonly batch: string | null;
    readonly problems: InputProblems | null;
  },
): Promise<CheckedInput> {
  const { resource, source, format, keyColumn, batch, given, sheet, problems } = opened;
  const { lastWins = false, skipUnchanged = false } = request;
  if (skipUnchanged) checkSkipping(connection, resource);
  const facts = new InputFacts(problems);
  if (sheet !== null) takeProblems(sheet.problems, problems);
  const published = await publishedSnapshotOf(store, resource);
  const known = { published: published?.columns ?? [], fixed: {}, text: textColumns(resource) };
  const csv = published?.csv ?? connection.resources.find(({ name }) => name === resource)?.csv ?? PLAIN_CSV;
  const { sha256, batchIdOf, ...bytes } = await readBytes(source, resource);
  const needsDates = request.dateFormats !== undefined;
  const isSheet = sheet !== null;
  const resolve = { format, types: known, csv, keyColumn, bytes, isSheet, problems, needsDates };
  const { reading, settings } = await resolveReading(source, given, resolve);
  const batchId = batch ?? batchIdOf(settings);
  const existing = await readBatch(store, batchId);
  const target = await readTargetSystem(store, connection, request.system);
  const identity = { connection: connection.name, resource, kind: batchKind(format), keyColumn };
  if (existing !== null) checkBatch(batchId, existing.file, identity, target);
  const system = target.alsoAt(existing?.file.sameAs ?? []);
  const types = { ...known, fixed: existing?.file.types ?? {} };
  /** Columns with too few published values to judge a cell. */
  const waived = new Set<string>();
  const ids = published === null || resource !== 'time-entries' ? null : new PublishedIds(store, published);
  let columns: readonly InputColumn[] = [];
  const onColumns = (found: readonly InputColumn[]): void => {
    columns = found;
    facts.attempt(() => checkColumns(found, resource, keyColumn, reading.drop));
    if (published !== null) facts.attempt(() => checkMasks(published, found));
  };
  const options = { format, types, reading, keyColumn, onColumns, facts };
  let rows = 0;
  // Upserts are not looked up: to repeat one does no harm.
  const fileRows = resource === 'time-entries' ? new FileRows(keyColumn) : null;
  const sending = sendingOf(existing?.file, connection.writeBack, resource);
  const planner = new BatchPlanner({ ...identity, batchId, lastWins });
  const window = new WindowCheck(connection, resource, Date.now());
  const keyField = keyColumn === null ? null : toByteString(keyColumn);
  for await (const some of readInputRows(source.open(), options)) {
    rows += some.length;
    const correction = some.find((row) => row.correction !== undefined);
    if (correction !== undefined) throw replacesRow(correction);
    for (const row of some)
      facts.attempt(() => fileRows?.add(row.fields, keyField === null ? null : inputRowKey(row, keyField)));
    ids?.add(some);
    window.add(some);
    if (resource === 'calendar-entries') for (const row of some) facts.attempt(() => planner.survey(row));
    if (published !== null && problems === null) await checkForms(store, published, facts, waived);
  }
  if (published !== null && problems !== null) await collectForms(store, published, facts, problems);
  if (rows > 0) facts.attempt(() => checkUsed(request, facts, columns));
  await ids?.check(resource).catch((error: unknown) => facts.report(error));
  return {
    resource,
    batchId,
    format,
    keyColumn,
    system,
    rows,
    lastWins,
    skipUnchanged,
    sending,
    beforeWindow: window.found,
    reading,
    fileRows,
    columns,
    facts,
    mixed: mixedColumns(columns, types.published),
    unpublished: unpublishedColumns(columns, types.published).filter((name) => name !== keyColumn),
    sha256,
    settings,
    source,
    eachRow: () => readInputRows(source.open(), { format, types, reading, keyColumn }),
  };
}

/** @throws InputError with the first problem, if there is nothing that collects them */
function takeProblems(found: InputProblems, problems: InputProblems | null): void {
  const [kind] = found.kinds;
  if (problems !== null) problems.addAll(found);
  else if (kind !== undefined) throw kind.first;
}

/** @throws InputError for an option of the command about a column that the file does not have */
function checkUsed(
  { dropColumns = [], map = {}, units = {} }: WriteBackSource,
  { dropped, mapped }: InputFacts,
  columns: readonly InputColumn[],
): void {
  const names = sentNames(columns);
  const check = (
    option: string,
    wanted: readonly string[],
    has: (name: string) => boolean,
    what: string,
  ): void => {
    const missing = wanted.find((name) => !has(name));
    if (missing !== undefined)
      throw new InputError(`there is no column ${JSON.stringify(missing)} ${what}`, {
        remedy: `Correct --${option}, or leave it out.`,
      });
  };
  check('drop-column', dropColumns, (name) => dropped.has(name), 'to leave out');
  check('map', Object.keys(map), (name) => mapped.has(name), 'that has another name');
  check('unit', Object.keys(units), (name) => names.includes(name), 'with a unit');
}

/** @throws InputError if rows that change nothing cannot be found */
function checkSkipping({ resources }: ConnectionSettings, resource: WritableResource): void {
  if (resource !== 'calendar-entries')
    throw new InputError(`${resource} are created, so each row changes something`, {
      remedy: 'Leave --skip-unchanged out. To leave out rows that are written, set --skip-written.',
    });
  if (resources.some(({ name }) => name === resource)) return;
  throw new InputError(`${resource} are not mirrored, so it is not known which rows change nothing`, {
    remedy: `Add ${resource} to \`resources\`, or leave --skip-unchanged out.`,
  });
}

/** As a row of another batch, it could be written next to the one that it replaces. */
function replacesRow({ line }: InputRow): InputError {
  return new InputError(
    `the row replaces a row of another batch (${CORRECTION_COLUMNS[0]}), and the first row of the file does not`,
    {
      line,
      remedy: `Send rows that replace others in a separate file with \`worktrack write-back\`, or remove the columns ${CORRECTION_COLUMNS.join(', ')}.`,
    },
  );
}

/** For a resource that is not mirrored. */
const PLAIN_CSV: LakeCsv = {
  delimiter: ',',
  nested: 'json',
  separator: '.',
  lineBreaks: 'keep',
  escapeFormulas: false,
};

/** The header must have all columns that every row needs. */
function checkColumns(
  columns: readonly InputColumn[],
  resource: WritableResource,
  keyColumn: string | null,
  drop: readonly string[],
): void {
  const names = sentNames(columns);
  // A key column can be left out of what is sent.
  const needed = [
    ...textColumns(resource),
    ...(keyColumn === null || drop.includes(keyColumn) ? [] : [keyColumn]),
  ];
  const missing = needed.find((name) => !names.includes(name));
  if (missing === undefined) return;
  throw new InputError(`the header has no column ${JSON.stringify(missing)}`, {
    line: 1,
    remedy: `Add it. The header has ${names.join(', ')}.`,
  });
}

/** Reads an input once. Its batch id is the hash of resource, bytes, and the settings that change what is sent. */
export async function readBytes(
  source: InputSource,
  resource: WritableResource,
): Promise<InputBytes & { readonly sha256: string; batchIdOf(settings: string): string }> {
  const content = createHash('sha256');
  const batch = createHash('sha256').update(`${resource}\n`);
  let isAscii = true;
  let head = '';
  for await (const chunk of source.open()) {
    content.update(chunk);
    batch.update(chunk);
    isAscii &&= bufferIsAscii(chunk);
    if (head.length < HEAD_BYTES) head += Buffer.from(chunk).toString('latin1', 0, HEAD_BYTES);
  }
  return {
    ...{ isAscii, hasMark: markOf(head) !== null, sha256: content.digest('hex') },
    batchIdOf: (settings) => batch.update(settings === '' ? '' : `\n${settings}`).digest('hex'),
  };
}
