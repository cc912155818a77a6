// Bundles the commands: one file per part instead of a thousand, which Node loads several times faster and keeps in less memory.
// There are three bundles: one for clients, one for commands that use the SDK's packages (`usesPackages` in src/cli/run.ts), and one for
// the process that writes Parquet. The library is not bundled.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { rolldown } from 'rolldown';
import { usedProtocol } from './used-protocol.mjs';

/** Packages that may not be installed. */
const OPTIONAL = [/^@opentelemetry\//, /^@duckdb\//, /^(?:fflate|saxes)$/];
/** What only a worker loads, and what gRPC loads only for its own services, which no command uses. */
const UNREACHED = [/^@temporalio\/(worker|activity|interceptors-)/, /^@grpc\/proto-loader$/, ...OPTIONAL];
/** A worker shares these packages with the user's modules. */
const SHARED = [/^@temporalio\//, ...OPTIONAL];
/** Modules of the commands that load the SDK from its packages. */
const HOSTS =
  /\/dist\/src\/(cli\/(worker\/(?!upgrade-)|runs\/local-export|demo\/(?!index\.js))|simulator\/|temporal\/(worker\/open-telemetry|replay))[^/]*\.js$/;
const SDK = '/dist/src/lake/store/s3/sdk.js';
const AWS = 'aws-sdk.cjs';
/** The folder of a package, in the id of one of its modules. */
const PACKAGE = /\/.*\/node_modules\/(?:@[^/]+\/)?[^/]+/;

/** Modules that many commands load, each with all that it imports: what is in several is in the first. Node takes long to find a file. */
const TOGETHER = Object.entries({
  start: 'cli/run',
  config: 'config/index',
  lake: 'cli/shared/open-lake',
  temporal: 'cli/shared/context',
}).map(([name, module]) => ({ name, test: `/dist/src/${module}.js` }));

/** Comments of licences stay. */
const COMMENTS = { jsdoc: false, annotation: false };

/**
 * Writes `dist/cli`: the bundles, the packages in each of its files, and the licences of these packages.
 *
 * @param root of the package
 */
export async function bundleCli(root) {
  const dir = path.join(root, 'dist/cli');
  const commands = await bundle(root, {
    input: path.join(root, 'dist/src/cli/run.js'),
    external: (id) => UNREACHED.some((one) => one.test(id)),
    plugins: [separateHosts(root), lazySdk(), protocolAsText()],
    output: {
      dir,
      entryFileNames: '[name].cjs',
      chunkFileNames: '[name]-[hash].cjs',
      codeSplitting: { groups: TOGETHER },
    },
  });
  const hosts = await bundle(root, {
    input: path.join(root, 'dist/src/cli/run.js'),
    external: (id) => SHARED.some((one) => one.test(id)),
    plugins: [lazySdk()],
    output: { dir, entryFileNames: 'host.cjs', chunkFileNames: 'host-[name]-[hash].cjs' },
  });
  const sdk = await bundle(root, {
    input: 'virtual:aws-sdk',
    plugins: [usedCommands(root)],
    // ES modules need no wrappers, and code that nothing uses is left out. Modules that are imported later are separate files.
    resolve: { mainFields: ['module', 'main'] },
    output: {
      dir,
      entryFileNames: AWS,
      chunkFileNames: 'aws-[name]-[hash].cjs',
      codeSplitting: { groups: [{ name: 'sdk', test: 'virtual:aws-sdk' }] },
    },
  });
  const engine = await bundle(root, {
    input: path.join(root, 'dist/src/table/parquet/engine-process.js'),
    external: OPTIONAL,
    plugins: [],
    output: { dir, entryFileNames: 'engine.cjs', chunkFileNames: 'engine-[name]-[hash].cjs' },
  });
  const chunks = [...commands, ...hosts, ...sdk, ...engine];
  const packages = chunks.map(({ fileName, folders }) => [
    fileName,
    [...new Set(folders.map(nameOf))].sort(),
  ]);
  writeFileSync(path.join(dir, 'packages.json'), JSON.stringify(Object.fromEntries(packages), null, 1));
  const folders = new Set(chunks.flatMap((chunk) => chunk.folders));
  writeFileSync(path.join(dir, 'THIRD-PARTY-LICENSES.txt'), licences(folders));
}

/** Returns the files, each with the folders of the packages in it. */
async function bundle(root, { input, external = [], plugins, resolve = {}, output }) {
  const bundled = await rolldown({
    input,
    external,
    plugins,
    platform: 'node',
    resolve,
    cwd: root,
    onLog(level, log, defaultHandler) {
      if (log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message);
      // Packages have circular imports and computed calls of `require`, which work.
      if (!/node_modules/.test(log.id ?? log.message)) defaultHandler(level, log);
    },
  });
  const { output: chunks } = await bundled.write({ ...output, format: 'cjs', comments: COMMENTS });
  await bundled.close();
  const shortened = withUsedProtocol(chunks.map(({ code }) => code));
  for (const [at, { fileName }] of chunks.entries())
    writeFileSync(path.join(output.dir, fileName), toAscii(eager(shortened[at])));
  return chunks.map(({ fileName, moduleIds = [] }) => ({
    fileName,
    folders: [...new Set(moduleIds.flatMap((id) => PACKAGE.exec(id)?.[0] ?? []))],
  }));
}

/** Leaves the modules of workers and servers where they are. */
function separateHosts(root) {
  return {
    name: 'separate-hosts',
    resolveId(source, importer) {
      if (importer === undefined || !source.startsWith('.')) return null;
      const file = path.resolve(path.dirname(importer), source);
      if (!HOSTS.test(file)) return null;
      return { id: path.relative(path.join(root, 'dist/cli'), file), external: true };
    },
  };
}

/** The AWS SDK stays a separate file, which only a lake in a bucket loads. */
function lazySdk() {
  return {
    name: 'lazy-sdk',
    resolveId: (source) => (source === `./${AWS}` ? { id: source, external: true } : null),
    load(id) {
      if (!id.endsWith(SDK)) return null;
      return `export function sdk() { return require('./${AWS}'); }\nexport const providers = sdk;`;
    },
  };
}

/** The literal of the protocol's 3,000 types, which is JSON. */
const PROTOCOL = /(?<=\.addJSON\()\{.*\}(?=\)[;\s])/s;

/** The SDK's protocol as JSON text, which V8 reads several times faster than the same object in code. */
function protocolAsText() {
  return {
    name: 'protocol-as-text',
    transform(code, id) {
      if (!id.endsWith('/@temporalio/proto/protos/json-module.js')) return null;
      return code.replace(
        PROTOCOL,
        (json) => `JSON.parse(${JSON.stringify(JSON.stringify(JSON.parse(json)))})`,
      );
    },
  };
}

/** The text that `protocolAsText` writes, as the bundler prints it. */
const PROTOCOL_TEXT = /(?<=\.addJSON\(JSON\.parse\()"(?:[^"\\]|\\.)*"(?=\)\))/;

/** Clients of the SDK that no command uses, as the bundler prints their modules. */
const UNUSED_CLIENTS =
  /^\/\/ .*\/@temporalio\/client\/lib\/(?:activity|async-completion|nexus|task-queue)-client\.js\n(?:(?!\/\/ ).*\n)*/gm;

/** The files of a bundle. The SDK's protocol in them has only definitions that the bundle uses: creating all takes long. */
function withUsedProtocol(codes) {
  const program = codes.map((code) => code.replace(PROTOCOL_TEXT, '').replace(UNUSED_CLIENTS, '')).join('\n');
  return codes.map((code) =>
    code.replace(PROTOCOL_TEXT, (text) => {
      const { nested } = usedProtocol({ nested: JSON.parse(JSON.parse(text)) }, program);
      return JSON.stringify(JSON.stringify(nested));
    }),
  );
}

/**
 * The wrappers of modules as functions in parentheses, which V8 compiles together with their file. The bundler writes arrow functions,
 * which the V8 of Node 20 parses once with the file and again when it calls them.
 */
function eager(code) {
  return code.replace(/(\b__(?:commonJS|esm)Min)\(\((\([\w$, ]*\)) => \{/g, '$1((function$2 {');
}

/** The same program in ASCII only: one character beyond Latin-1 makes V8 keep a whole file with two bytes per character. */
function toAscii(code) {
  return code.replace(
    /[^\0-\x7f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Those of the SDK's hundred commands and providers of credentials that the store uses. */
function usedCommands(root) {
  const folder = path.join(root, 'dist/src/lake/store/s3');
  const files = readdirSync(folder).filter((name) => name.endsWith('.js'));
  const texts = files.map((file) => readFileSync(path.join(folder, file), 'utf8')).join('\n');
  const exported = (calls, of) =>
    `export { ${[...new Set(Array.from(texts.matchAll(calls), ([, name]) => name))].join(', ')} } from ${JSON.stringify(of)};`;
  return {
    name: 'used-commands',
    resolveId: (source) => (source === 'virtual:aws-sdk' ? source : null),
    load: (id) =>
      id === 'virtual:aws-sdk'
        ? exported(/\bsdk\(\)\.(\w+)/g, moduleOf(root, '@aws-sdk/client-s3')) +
          exported(/\bproviders\(\)\.(\w+)/g, moduleOf(root, '@aws-sdk/credential-providers'))
        : null,
  };
}

/** A package of the SDK as ES modules. What is not used can be left out of them. */
function moduleOf(root, name) {
  const manifest = createRequire(path.join(root, 'package.json')).resolve(`${name}/package.json`);
  const { module } = JSON.parse(readFileSync(manifest, 'utf8'));
  return path.join(path.dirname(manifest), module);
}

function nameOf(folder) {
  return folder.split('/node_modules/').at(-1);
}

/** Name, version, licence and notices of each package. @throws Error if a package has no licence */
function licences(folders) {
  const texts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
    if (typeof license !== 'string') throw new Error(`${name} has no licence`);
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
    const notices = files.map((file) => readFileSync(path.join(folder, file), 'utf8').trim());
    return [`${name} ${version} (${license})`, ...notices].join('\n\n');
  });
  return `The files in this folder contain code of these packages.\n\n${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
