import { DEFAULT_TASK_QUEUE } from '../../core/contract/index.js';
import { type DeploymentVersion, upgradeCommand } from '../../core/deployment-version.js';
import { ConfigurationError } from '../../core/errors.js';
import { shellWord } from '../../core/short-text.js';
import { queueOption } from '../../temporal/status/silence.js';
import { type Poller, readPollers } from '../../temporal/status/workers.js';
import { type UpgradeStep, upgradeTo } from '../../temporal/versions/upgrade.js';
import { EXIT, type ExitCode } from '../shared/choose-exit-code.js';
import { type GlobalOptions, reachTimeoutMs } from '../shared/command-options.js';
import { reachTemporal, withTemporal } from '../shared/context.js';
import { counted, output, printJson } from '../shared/output.js';

interface UpgradeCommandOptions extends GlobalOptions {
  readonly deploymentName?: string;
  /** `false` with `--no-wait`. */
  readonly wait?: boolean;
}

/** `worktrack upgrade`: makes a build of workers current, and says when the workers of the build before may stop. */
export function runUpgrade(buildId: string, options: UpgradeCommandOptions): Promise<ExitCode> {
  const { taskQueue = DEFAULT_TASK_QUEUE, wait: waits } = options;
  const given = options.deploymentName ?? (process.env.WORKTRACK_DEPLOYMENT_NAME || undefined);
  const deploymentName = given ?? DEFAULT_DEPLOYMENT;
  const version = { deploymentName, buildId };
  const place = { version, taskQueue, waits: waits !== false };
  let before: DeploymentVersion | null = null;
  const draining = new Set<string>();
  const lostQueues = new Map<string, readonly string[]>();
  const onStep = (step: UpgradeStep): void => {
    if (step.step === 'current') {
      before = step.before;
      for (const one of step.draining) draining.add(one.buildId);
    }
    if (step.step === 'draining') lostQueues.set(step.before.buildId, step.taskQueues);
    if (step.step === 'drained') draining.delete(step.before.buildId);
    for (const line of stepLines(step, place)) output.note(line);
  };
  return withTemporal(options, async (temporal) => {
    if (given === undefined)
      checkDefault(await reachTemporal(temporal, () => readPollers(temporal, taskQueue)), buildId, taskQueue);
    const reach = { timeoutMs: reachTimeoutMs(process.env), onOutage: output.note };
    const { step: outcome } = await upgradeTo(temporal, version, { taskQueue, waits, onStep, reach });
    if (options.json === true)
      printJson({ outcome, ...version, before: before?.buildId ?? null, draining: [...draining] });
    if (outcome === 'waiting') output.note(`No worker of build ${buildId} polls. Nothing was changed.`);
    if (outcome === 'draining') {
      const queues = [...draining].flatMap((one) => lostQueues.get(one) ?? []);
      output.note(lostText([...draining], [...new Set(queues)], place));
    }
    return outcome === 'waiting' || outcome === 'draining' ? EXIT.failed : EXIT.done;
  });
}

const DEFAULT_DEPLOYMENT = 'worktrack';

/**
 * Checks that the default deployment can be meant: a worker of it would be waited for in vain if all are of another one.
 *
 * @throws ConfigurationError with the command for the deployment of these workers
 */
export function checkDefault(
  workers: readonly Pick<Poller, 'version'>[],
  buildId: string,
  taskQueue: string,
): void {
  const names = [...new Set(workers.flatMap(({ version }) => version?.deploymentName ?? []))];
  const [first] = names;
  if (first === undefined || names.includes(DEFAULT_DEPLOYMENT)) return;
  throw new ConfigurationError(
    `the workers of task queue "${taskQueue}" are of deployment ${names.join(', ')}, and none is of ${DEFAULT_DEPLOYMENT}`,
    {
      remedy: `Name their deployment: \`worktrack upgrade ${shellWord(buildId)} --deployment-name ${shellWord(first)}\`.`,
    },
  );
}

/** What an upgrade is about. */
interface UpgradePlace {
  readonly version: DeploymentVersion;
  readonly taskQueue: string;
  /** Whether it waits until earlier builds have drained. */
  readonly waits: boolean;
}

/** Says that builds whose workers are gone drain no further. */
export function lostText(
  buildIds: readonly string[],
  taskQueues: readonly string[],
  { version, taskQueue }: UpgradePlace,
): string {
  const [builds, have, their] = buildIds.length === 1 ? ['Build', 'has', 'its'] : ['Builds', 'have', 'their'];
  return (
    `${builds} ${buildIds.join(', ')} ${have} not drained, because ${their} workers are gone. ` +
    `Start one, or run ${unpinCommands(taskQueues)}. Then repeat \`${upgradeCommand(version)}${queueOption(taskQueue)}\`.`
  );
}

/** `worktrack unpin` for each task queue, in backticks. */
function unpinCommands(taskQueues: readonly string[]): string {
  return taskQueues.map((one) => `\`worktrack unpin${queueOption(one)}\``).join(' and ');
}

/** What a person should know about a step of an upgrade. */
export function stepLines(step: UpgradeStep, { version, taskQueue, waits }: UpgradePlace): string[] {
  const { deploymentName, buildId } = version;
  switch (step.step) {
    case 'waiting': {
      const names = `--deployment-name ${shellWord(deploymentName)} --build-id ${shellWord(buildId)}`;
      const command = `worktrack worker ${names}${queueOption(taskQueue)}`;
      return [`Waiting for a worker of build ${buildId}. To start one: ${command}`];
    }
    case 'current':
      if (!step.changed) return [`Build ${buildId} is the current version already.`];
      return [
        `Build ${buildId} is the current version now, and receives all new runs.`,
        ...(step.before === null
          ? ['Workers without a version receive no more work. They may stop as soon as they are idle.']
          : []),
      ];
    case 'draining': {
      const { before, lost, taskQueues } = step;
      if (lost > 0)
        return [
          `${counted(lost, 'workflow')} of build ${before.buildId} cannot end, because none of its workers polls. ` +
            `Start one, or move them: ${unpinCommands(taskQueues)}`,
        ];
      return [
        `Keep the workers of build ${before.buildId} until their runs have ended. ` +
          (waits
            ? 'Waiting; the server looks every few minutes.'
            : `To wait for that: ${upgradeCommand(version)}${queueOption(taskQueue)}`),
      ];
    }
    case 'drained':
      return [`Build ${step.before.buildId} has drained. Its workers may stop.`];
  }
}
