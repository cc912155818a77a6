import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { output } from '../shared/output.js';

/** Opens a file with `$BROWSER`, else with the system's default. Prints a note if there is neither. */
export async function openInBrowser(file: string): Promise<void> {
  const url = pathToFileURL(resolve(file)).href;
  const [command, args] = opener(url);
  await new Promise<void>((done) => {
    const child = spawn(command, args, { detached: true, stdio: 'ignore' });
    child.once('spawn', () => {
      child.unref();
      done();
    });
    child.once('error', () => {
      output.note(`Cannot start a browser with ${command}. Open ${url} yourself.`);
      done();
    });
  });
}

function opener(url: string): [command: string, args: string[]] {
  const { BROWSER } = process.env;
  if (BROWSER !== undefined && BROWSER !== '') return [BROWSER, [url]];
  if (process.platform === 'darwin') return ['open', [url]];
  if (process.platform === 'win32') return ['rundll32', ['url.dll,FileProtocolHandler', url]];
  return ['xdg-open', [url]];
}
