// `npm run reference`: writes the generated parts of docs/reference.
import { readFileSync, writeFileSync } from 'node:fs';
import { withOptions } from './command-reference.mjs';
import { configReference, withReference } from './config-reference.mjs';

const ROOT = new URL('../../', import.meta.url);
const { configJsonSchema } = await import(new URL('dist/src/config/index.js', ROOT).href);
const { createProgram } = await import(new URL('dist/src/cli/program.js', ROOT).href);

rewrite('docs/reference/configuration.md', (page) =>
  withReference(page, configReference(configJsonSchema())),
);
rewrite('docs/reference/commands.md', (page) =>
  withOptions(
    page,
    createProgram(() => {}),
  ),
);

function rewrite(path, change) {
  const file = new URL(path, ROOT);
  writeFileSync(file, change(readFileSync(file, 'utf8')));
}
