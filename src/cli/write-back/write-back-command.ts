import { selectConnection } from '../../config/index.js';
import { shownBatchId, type WriteBackInput } from '../../core/contract/write-back.js';
import { formatDuration } from '../../core/duration.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { shellWord } from '../../core/short-text.js';
import { toUtcSeconds } from '../../core/utc-time.js';
import { pointerKey } from '../../lake/documents/lake-layout.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { inputKey } from '../../write-back/batch-layout.js';
import { type CheckedCorrections, checkCorrections } from '../../write-back/check-corrections.js';
import {
  type CheckedInput,
  checkWriteBack,
  type WriteBackSource,
  writableResource,
} from '../../write-back/check-write-back.js';
import type { FileFormat } from '../../write-back/input-format.js';
import { withTemporaryFile } from '../../write-back/input-source.js';
import { prepareResend } from '../../write-back/prepare-resend.js';
import { type WrittenBatch, writtenBatch } from '../../write-back/results.js';
import { copyInput } from '../../write-back/stage-input.js';
import { undoneBy } from '../../write-back/undo-batch.js';
import { readLimit } from '../runs/diff-options.js';
import { EXIT, type ExitCode, UsageError } from '../shared/choose-exit-code.js';
import type { GlobalOptions } from '../shared/command-options.js';
import { withTemporal } from '../shared/context.js';
import { readSettings } from '../shared/each-connection.js';
import { withLake } from '../shared/open-lake.js';
import { age, counted, output } from '../shared/output.js';
import { dryRun } from './dry-run.js';
import { finishBatch, orOutOfReach, type RunOptions, runInput, startAndFollowBatch } from './follow-batch.js';
import { type InputOptions, readingOptions, saveInput } from './input-options.js';
import { checkForDryRun } from './list-problems.js';
import {
  askedPolicy,
  askedSystem,
  choosePolicy,
  earlierLines,
  findEarlierRows,
  repeatedWarnings,
  unsentRow,
} from './written-policy.js';

interface WriteBackOptions
  extends GlobalOptions,
    RunOptions,
    InputOptions,
    Pick<WriteBackSource, 'format' | 'lastWins' | 'skipUnchanged' | 'batchId'> {
  readonly dryRun?: boolean;
  readonly diff?: boolean;
  readonly limit?: string;
  readonly saveInput?: boolean;
  readonly unknown?: 'resend' | 'skip';
  readonly again?: boolean;
  readonly skipWritten?: boolean;
  readonly sameSystem?: boolean;
  readonly otherSystem?: boolean;
}

/** `worktrack write-back`: checks a file, copies it into the lake, and follows the batch to its end. */
export async function runWriteBack(
  resource: string,
  file: string,
  options: WriteBackOptions,
): Promise<ExitCode> {
  const connection = selectConnection(readSettings(options), options.connection);
  const asked = askedPolicy(options);
  const system = askedSystem(options);
  const { unknown } = options;
  checkOptions(options);
  return withInputFile(file, options.format, (path) =>
    withLake(connection, async ({ store, retry }) => {
      const published = pointerKey(writableResource(resource));
      await retry(() => store.head(published));
      return orOutOfReach(async () => {
        const { format, keyColumn, lastWins, skipUnchanged, batchId } = options;
        const request: WriteBackSource = {
          ...{ format, keyColumn, lastWins, skipUnchanged, batchId },
          ...{ resource, file: path, system, ...readingOptions(options) },
        };
        const corrections = await checkCorrections(connection, store, request);
        if (corrections !== null) return sendCorrections(connection, store, corrections, options);
        const input =
          options.dryRun === true
            ? await checkForDryRun(connection, store, request, options)
            : await checkWriteBack(connection, store, request);
        if (typeof input === 'number') return input;
        if (options.saveInput === true) await saveOptions(connection, request, options);
        for (const note of [...inputNotes(input), ...repeatedWarnings(input)]) output.note(note);
        // A file whose rows are all written leaves none to skip.
        const inputs = [input, { ...input, skipUnchanged: false }].map((one) => inputKey(input.batchId, one));
        const before = await writtenBatch(store, input.batchId, inputs, {
          ...{ policy: asked, system: input.system },
        });
        if (before !== null)
          for (const line of await writtenLines(store, input, before, options)) output.note(line);
        if (before !== null && options.dryRun !== true) return finishWritten(input, before, store, options);
        const earlier = await findEarlierRows(store, input);
        if (options.dryRun === true) {
          for (const line of earlierLines(earlier, asked)) output.note(line);
          const unsent = before === null ? unsentRow(earlier, asked) : () => 'settled' as const;
          return dryRun(store, connection, input, { ...options, unsent });
        }
        const written = await choosePolicy(earlier, asked, options);
        for (const line of earlierLines(earlier, written)) output.note(line);
        output.note(
          `${counted(input.rows, 'row')} to write to ${input.resource}, batch ${shownBatchId(input.batchId)}`,
        );
        const staged: WriteBackInput = {
          ...(await copyInput(connection.name, store, input)),
          ...(written === undefined ? {} : { written }),
          ...(unknown === undefined ? {} : { unknown }),
          ...runInput(options),
        };
        const result = await withTemporal(options, (temporal) =>
          startAndFollowBatch(temporal, connection, staged, options),
        );
        return finishBatch(result, store, options);
      });
    }),
  );
}

async function saveOptions(
  { name }: ConnectionSettings,
  request: WriteBackSource,
  options: WriteBackOptions,
): Promise<void> {
  const { keyColumn } = options;
  const path = await saveInput(name, request.resource, { keyColumn, ...readingOptions(options) }, options);
  output.note(`The options are saved at ${path}. The next file needs none of them.`);
}

/** @throws UsageError for options that exclude each other */
function checkOptions({ dryRun: isDry, diff, limit, skipUnchanged, readBack }: WriteBackOptions): void {
  if (diff === true && isDry !== true) throw new UsageError('--diff needs --dry-run');
  if (limit !== undefined && diff !== true) throw new UsageError('--limit needs --diff');
  readLimit(limit);
  if (skipUnchanged === true && readBack === false)
    throw new UsageError('--skip-unchanged reads the resource first: leave out --no-read-back');
}

/** Sends corrected rows in a run of the batch that they are from. */
async function sendCorrections(
  connection: ConnectionSettings,
  store: ObjectStore,
  { batchId, order, rows, copy }: CheckedCorrections,
  options: WriteBackOptions,
): Promise<ExitCode> {
  const named = { connection: connection.name, system: askedSystem(options), again: options.again };
  const { input } = await prepareResend(store, batchId, order, { ...named, corrected: rows });
  output.note(`${counted(rows.length, 'row')} to replace in batch ${shownBatchId(batchId)}`);
  if (options.dryRun === true) {
    output.note('Nothing was sent.');
    return EXIT.done;
  }
  await copy();
  const started = { ...input, ...runInput(options) };
  const result = await withTemporal(options, (temporal) =>
    startAndFollowBatch(temporal, connection, started, options),
  );
  return finishBatch(result, store, options, 'resend');
}

/** That a file is written, whether it was undone since, and how it is sent again. */
async function writtenLines(
  store: ObjectStore,
  { batchId, resource }: CheckedInput,
  { at }: WrittenBatch,
  options: Pick<WriteBackOptions, 'again'>,
): Promise<string[]> {
  const when = (ms: number): string => `at ${toUtcSeconds(ms)}, ${age(Date.now() - ms)} ago, by batch`;
  const lines = [`This file was written ${when(at)} ${shownBatchId(batchId)}; nothing was sent.`];
  const again = (option: string): string =>
    `To write all of its rows again, give the batch another id: ${option}--batch-id NAME`;
  // Each create would make a second record.
  if (resource === 'time-entries') return options.again === true ? [...lines, again('--again ')] : lines;
  const undone = await undoneBy(store, batchId);
  if (undone !== null) {
    const { rows, at: undoneAt, batchId: by } = undone;
    lines.push(
      `${counted(rows, 'row')} of it ${rows === 1 ? 'was' : 'were'} undone ${when(undoneAt)} ${by}.`,
    );
  }
  return [...lines, again('')];
}

/** The same file is the same batch, so that its rows are sent once. */
function finishWritten(
  { batchId, rows }: CheckedInput,
  { written }: WrittenBatch,
  store: ObjectStore,
  options: WriteBackOptions,
): Promise<ExitCode> {
  const { counts, results, unsent } = written;
  const outcome = counts.rejected > 0 ? 'incomplete' : 'written';
  const nothing = { refusals: null, warnings: [], error: null };
  const { differs = [], absent = [], differences = null } = written;
  const compared = { differs, absent, differences };
  const result = { batchId, outcome, counts, results, rows, unsent, ...compared, ...nothing } as const;
  return finishBatch(result, store, options);
}

/** What the user should know about an input before it is sent. */
function inputNotes({ unpublished, mixed, resource, facts, beforeWindow }: CheckedInput): string[] {
  const { blankLines, headerLines, deletedRows } = facts;
  const notes = unpublished.map(
    (name) =>
      `warning: no published row of ${resource} has the column ${JSON.stringify(name)}. ` +
      `It is sent as it is. Correct the header if the name is wrong, or set --map ${shellWord(`${name}=FIELD`)}.`,
  );
  for (const name of mixed)
    notes.push(
      `warning: the published values of ${JSON.stringify(name)} have several types. Its cells are sent as text; ` +
        `set a type in the header (${name}:json), or leave the column out with --drop-column.`,
    );
  if (blankLines > 0) notes.push(`${counted(blankLines, 'line')} without any value: skipped`);
  if (headerLines > 0) notes.push(`${counted(headerLines, 'line')} with the header again: skipped`);
  if (beforeWindow !== null) {
    const { rows, field, windowMs } = beforeWindow;
    notes.push(
      `warning: ${counted(rows, 'row')} with ${field} more than ${formatDuration(windowMs)} ago. The service no longer lists such records, ` +
        `so ${rows === 1 ? 'it' : 'they'} will not be in the lake.`,
    );
  }
  if (deletedRows > 0)
    notes.push(
      `${counted(deletedRows, 'row')} with _deleted_at: not sent, because the service has deleted the record`,
    );
  return notes;
}

/** Calls `work` with a path of the input. Standard input is `-`. */
async function withInputFile<T>(
  file: string,
  format: FileFormat | undefined,
  work: (path: string) => Promise<T>,
): Promise<T> {
  if (file !== '-') return work(file);
  if (format === undefined)
    throw new UsageError('Standard input has no file extension: set its format with --format');
  return withTemporaryFile(`stdin.${format}`, process.stdin, work);
}
