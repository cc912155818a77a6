import { spawnSync } from 'node:child_process';

let prefix: readonly string[] | undefined;

/**
 * A command prefix that makes the kernel kill a child when this process dies, even by kill -9: `setpriv` of util-linux
 * sets the parent-death signal and then executes the command with the same process id. Empty if `setpriv` does not
 * support it (other systems, BusyBox); then children are killed only when this process exits normally.
 */
export function parentDeathPrefix(): readonly string[] {
  if (prefix === undefined) {
    const setpriv = ['setpriv', '--pdeathsig', 'KILL', '--'];
    const [command = '', ...args] = setpriv;
    const works =
      process.platform === 'linux' &&
      spawnSync(command, [...args, 'true'], { stdio: 'ignore', timeout: 5_000 }).status === 0;
    prefix = works ? setpriv : [];
  }
  return prefix;
}
