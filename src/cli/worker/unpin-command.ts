import { DEFAULT_TASK_QUEUE } from '../../core/contract/index.js';
import { type Unpinned, unpin } from '../../temporal/versions/unpin.js';
import { EXIT, type ExitCode } from '../shared/choose-exit-code.js';
import type { GlobalOptions } from '../shared/command-options.js';
import { reachTemporal, readDataConverter, withTemporal } from '../shared/context.js';
import { output, printJson } from '../shared/output.js';
import { silenceRuntime } from './runtime.js';

/** `worktrack unpin`: moves runs that wait for a build without workers to the current one, if they replay. */
export function runUnpin(options: GlobalOptions): Promise<ExitCode> {
  return withTemporal(options, async (temporal) => {
    const dataConverter = await readDataConverter(options);
    silenceRuntime();
    const { taskQueue = DEFAULT_TASK_QUEUE } = options;
    const workflows = await unpin(temporal, taskQueue, dataConverter, (call) =>
      reachTemporal(temporal, call),
    );
    const diverged = workflows.filter(({ outcome }) => outcome === 'diverged');
    if (options.json === true) printJson({ outcome: diverged.length > 0 ? 'diverged' : 'moved', workflows });
    else for (const line of unpinnedLines(workflows)) output.out(line);
    return diverged.length > 0 ? EXIT.failed : EXIT.done;
  });
}

/** A line per workflow, and what to do about those that stay. */
export function unpinnedLines(workflows: readonly Unpinned[]): string[] {
  if (workflows.length === 0) return ['No workflow waits for a build without workers.'];
  const lines = workflows.flatMap(({ workflowId, from, to, outcome, error }) =>
    outcome === 'moved'
      ? [`moved     ${workflowId} (build ${from.buildId} to ${to?.buildId ?? 'workers without a version'})`]
      : [`diverged  ${workflowId} (stays on build ${from.buildId})`, `  ${error}`],
  );
  if (workflows.every(({ outcome }) => outcome === 'moved')) return lines;
  return [
    ...lines,
    'This build cannot continue what diverged, so it was not changed. Start a worker of its build.',
  ];
}
