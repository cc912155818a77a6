// `npm run test:changed [-- <commit>]`: the unit tests next to what has changed since a commit (default: HEAD).
import { execFileSync, spawnSync } from 'node:child_process';
import { testsOfChange } from './nearest-tests.mjs';

const [since = 'HEAD'] = process.argv.slice(2);
const git = (...args) => execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
const changed = [...git('diff', '--name-only', since), ...git('ls-files', '--others', '--exclude-standard')];
const tests = testsOfChange(changed);
console.log(`${changed.length} changed files, ${tests.length} files of tests`);
const vitest = ['vitest', 'run', '--project', 'unit', ...tests];
process.exit(spawnSync('npx', vitest, { stdio: 'inherit' }).status ?? 1);
