/** Commands that run a worker or the simulated service in their process. */
const HOSTS = ['worker', 'replay', 'demo', 'simulator', '--local'];
/** Options that load packages or modules of the user. */
const USER_MODULES = ['--traces', '--data-converter'];

/**
 * Whether a command must load each module from its own file. The bundle of the commands contains a copy of Temporal's
 * client. A worker, or a module of the user, loads the SDK from its packages, and must share that copy with the rest of
 * its process.
 *
 * This decides before the arguments are parsed. Where a word has another meaning, such as `--connection worker`, the
 * separate modules do the same in more time.
 */
export function needsSeparateModules(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  if (env.WORKTRACK_DATA_CONVERTER) return true;
  return args.some(
    (arg) =>
      HOSTS.includes(arg) || USER_MODULES.some((option) => arg === option || arg.startsWith(`${option}=`)),
  );
}
