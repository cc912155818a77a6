// Bundles the command line in place, so that a command loads a few files instead of five hundred.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { rolldown } from 'rolldown';

/** Packages that stay outside: with native parts, or loaded by few commands. */
const SEPARATE_PACKAGES = [
  /^@(aws-sdk|opentelemetry)\//,
  /^@temporalio\/(activity|interceptors-opentelemetry|plugin|worker|workflow)(\/|$)/,
  /^(undici|@grpc\/proto-loader)$/,
];

/** Our modules that stay outside: those that start workers or servers, which takes longer than to load them. */
const SEPARATE_MODULES =
  /\/dist\/src\/((?:cli\/(?:demo|local|worker)|simulator)\/.*|cli\/triggers\/webhook\.js|temporal\/worker\/traces\.js)$/;

/** @param {string} root folder of the package; `dist` has been compiled */
export async function bundleCommandLine(root) {
  const out = path.join(root, 'dist/src');
  const main = path.join(out, 'cli/main.js');
  const bundle = await rolldown({
    input: main,
    cwd: root,
    platform: 'node',
    external: SEPARATE_PACKAGES,
    plugins: [
      { name: 'separate-modules', resolveId: separate },
      {
        name: 'smaller-proto',
        transform: { filter: { id: /proto\/protos\/json-module\.js$/ }, handler: smallerProto },
      },
    ],
  });
  const { output } = await bundle.write({
    dir: out,
    entryFileNames: 'cli/main.js',
    // At the depth of `src/core`, because `src/core/version.ts` looks for package.json from its own place.
    chunkFileNames: ({ moduleIds }) =>
      moduleIds.some(packageFolder) ? 'bundle/packages/[name]-[hash].js' : 'bundle/[name]-[hash].js',
    codeSplitting: { groups: [{ test: /node_modules/, name: chunkName, debugName: 'package' }] },
    comments: false,
  });
  await bundle.close();
  const packages = new Set(
    output.flatMap(({ moduleIds = [] }) => moduleIds.map(packageFolder)).filter(Boolean),
  );
  writeFileSync(
    path.join(out, 'bundle/LICENSES.txt'),
    `${[...packages].sort().map(licence).join('\n\n\n')}\n`,
  );
}

/** A path that is valid from `cli/main.js` and from each chunk in `bundle/`, which are at the same depth. */
function separate(id, importer) {
  if (!id.startsWith('.') || importer === undefined) return null;
  const [, file] = SEPARATE_MODULES.exec(path.resolve(importer, '..', id)) ?? [];
  return file === undefined ? null : { id: `../${file}`, external: true };
}

/** The definitions of messages as JSON text, which loads faster than an object literal, without the parts for workers. */
function smallerProto(code) {
  const [start, end] = [code.indexOf('.addJSON(') + '.addJSON('.length, code.lastIndexOf('})') + 1];
  const definitions = JSON.parse(code.slice(start, end));
  delete definitions.coresdk;
  delete definitions.temporal.nested.api.nested.cloud;
  return `${code.slice(0, start)}JSON.parse(${JSON.stringify(JSON.stringify(definitions))})${code.slice(end)}`;
}

/** The folder of a module's package; `undefined` for our own modules. */
function packageFolder(id) {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0];
}

/** `temporalio-client`, for a chunk. */
function chunkName(id) {
  return packageFolder(id)
    ?.replace(/^.*\/node_modules\//, '')
    .replace('@', '')
    .replace('/', '-');
}

/** Name, version and licence text, which must accompany a package's code. */
function licence(folder) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  const text = file === undefined ? '' : readFileSync(path.join(folder, file), 'utf8').trim();
  return `${name} ${version} (${license})\n\n${text}`.trim();
}
