import { selectResources } from '../../config/index.js';
import type { PurgeCounts } from '../../core/contract/index.js';
import type { ConnectionSettings, ResourceSettings } from '../../core/settings.js';
import { findRecord } from '../../lake/published/find-record.js';
import { startPurge } from '../../temporal/client/start.js';
import { canPrompt, withPrompter } from '../setup/prompt.js';
import { EXIT, type ExitCode, exitCodeOf, UsageError } from '../shared/choose-exit-code.js';
import type { GlobalOptions } from '../shared/command-options.js';
import { readConnection } from '../shared/each-connection.js';
import { withAnsweringLake } from '../shared/open-lake.js';
import { counted, output, printJson } from '../shared/output.js';
import { printLines } from './result-lines.js';
import { type RunCommand, runOnConnections } from './start-and-follow.js';

interface PurgeOptions extends GlobalOptions {
  readonly resource: string;
  /** One value per key field, in the configured order. */
  readonly key: readonly string[];
  readonly dryRun?: boolean;
  /** Do not ask on a terminal. */
  readonly yes?: boolean;
}

/** `worktrack purge`: removes one record from all snapshots and change logs of a resource. */
export async function runPurge(options: PurgeOptions): Promise<ExitCode> {
  const connection = readConnection(options);
  const { resource, key } = options;
  const [settings] = selectResources(connection, [resource]);
  if (settings !== undefined && settings.key.length !== key.length) {
    throw new UsageError(
      `the key of ${resource} is ${settings.key.join(', ')}: pass one --key for each field, in this order (found ${key.length})`,
    );
  }
  const isAsked = options.yes !== true && canPrompt();
  if (options.dryRun === true || isAsked) {
    const held = await findInLake(connection, resource, key, settings ?? null);
    if (options.dryRun === true || isNowhere(held)) {
      if (options.json === true) printJson({ resource, found: held });
      else output.out(`${resource}: ${heldText(held)}. Nothing was removed.`);
      return EXIT.done;
    }
    output.note(`${resource} of ${connection.name}: ${heldText(held)}. A purge cannot be undone.`);
    if (!(await isConfirmed(resource, key))) {
      output.note('Nothing was removed.');
      return EXIT.done;
    }
  }
  const input = { connection: connection.name, resource, key };
  const start: RunCommand['start'] = (temporal, _, startOptions) => startPurge(temporal, input, startOptions);
  const print: RunCommand['print'] = (result) => {
    printLines(result, purgedLines(result.runs[0]?.purged ?? null, resource), options);
    return exitCodeOf(result);
  };
  return runOnConnections({ what: 'purge', options, resources: [resource], start, print }, [connection]);
}

/** @throws UsageError if the key is masked */
function findInLake(
  connection: ConnectionSettings,
  resource: string,
  key: readonly string[],
  settings: ResourceSettings | null,
): Promise<PurgeCounts> {
  return withAnsweringLake(connection, resource, async (store) => {
    try {
      return await findRecord(store, resource, key, settings);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new UsageError(`${resource}: ${error.message}. Use --yes without --dry-run.`);
    }
  });
}

function isNowhere({ snapshots, changeLogs, quarantineFiles = 0 }: PurgeCounts): boolean {
  return snapshots + changeLogs + quarantineFiles === 0;
}

function heldText(held: PurgeCounts): string {
  return isNowhere(held)
    ? 'no snapshot or change log contains this record'
    : `${countsText(held)} contain this record`;
}

function countsText({ snapshots, changeLogs, quarantineFiles = 0 }: PurgeCounts): string {
  const [first, second] = [counted(snapshots, 'snapshot'), counted(changeLogs, 'change log')];
  if (quarantineFiles === 0) return `${first} and ${second}`;
  return `${first}, ${second} and ${counted(quarantineFiles, 'quarantine file')}`;
}

/** Whether the user types the name of the resource; an empty answer keeps the record. @throws DetachedError after Ctrl-C */
async function isConfirmed(resource: string, key: readonly string[]): Promise<boolean> {
  const answer = await withPrompter('Nothing was removed.', (prompter) =>
    prompter.ask({
      text: `Remove the record ${key.join(', ')}? Type ${resource} to remove it, or press Enter to keep it`,
      fallback: '',
      check: (text) => (text === '' || text === resource ? null : `type ${resource}, or press Enter`),
    }),
  );
  return answer === resource;
}

function purgedLines(purged: PurgeCounts | null, resource: string): string[] {
  if (purged === null) return [];
  if (isNowhere(purged)) return [`${resource}: no snapshot or change log contains this record`];
  return [
    `${resource}: removed from ${countsText(purged)}`,
    'If the service still has the record, the next full read adds it again.',
  ];
}
