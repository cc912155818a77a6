#!/usr/bin/env bash
# In commander 14.0.3, enablePositionalOptions() of a group of commands has no effect unless its parent calls it, too: an option that
# the group and its subcommand both have goes to the group although it stands behind the subcommand, with its value.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit commander@14.0.3
cat >try.mjs <<'JS'
import { Command } from 'commander';
import { readFileSync } from 'node:fs';
console.log('commander', JSON.parse(readFileSync('node_modules/commander/package.json', 'utf8')).version, '- group sub --x A');
function parsed(alsoParent) {
  const program = new Command('program');
  if (alsoParent) program.enablePositionalOptions();
  const group = program.command('group').enablePositionalOptions().option('--x [value]');
  const sub = group.command('sub').option('--x [value]').action(() => {});
  program.parse(['group', 'sub', '--x', 'A'], { from: 'user' });
  return `the group has ${JSON.stringify(group.opts())}, the subcommand has ${JSON.stringify(sub.opts())}`;
}
const [alone, both] = [parsed(false), parsed(true)];
console.log(`called on the group: ${alone}`);
console.log(`called on both:      ${both}`);
if (alone !== 'the group has {"x":"A"}, the subcommand has {}') process.exitCode = 1;
if (both !== 'the group has {}, the subcommand has {"x":"A"}') process.exitCode = 1;
JS
node try.mjs
