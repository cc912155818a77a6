import { existsSync, readFileSync } from 'node:fs';

const LINES = 10;

/** The last lines of the servers that all integration tests share. @param files their logs */
export function lastLines(files: readonly string[]): string {
  return files
    .filter(existsSync)
    .map((file) => `-- ${file}\n${readFileSync(file, 'utf8').trimEnd().split('\n').slice(-LINES).join('\n')}`)
    .join('\n');
}
