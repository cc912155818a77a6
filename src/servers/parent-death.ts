import { spawnSync } from 'node:child_process';

let prefix: readonly string[] | undefined;

/**
 * The command to put before another so that the kernel ends it when this process dies, even by kill -9: `setpriv` of
 * util-linux, which sets the wish and then becomes the command, keeping the process id. Empty where there is none
 * (other systems, BusyBox); there only an orderly end of this process ends its children.
 */
export function parentDeathPrefix(): readonly string[] {
  if (prefix === undefined) {
    const wanted = ['setpriv', '--pdeathsig', 'KILL', '--'];
    const [command = '', ...args] = wanted;
    const works =
      process.platform === 'linux' &&
      spawnSync(command, [...args, 'true'], { stdio: 'ignore', timeout: 5_000 }).status === 0;
    prefix = works ? wanted : [];
  }
  return prefix;
}
