import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';
import type { CodeCache } from './code-cache.js';

type Wrapper = (
  exports: object,
  require: (id: string) => unknown,
  module: { exports: object },
  filename: string,
  dirname: string,
  importModule: (id: string) => Promise<unknown>,
) => void;

/** What surrounds a file. `import()` itself fails in code from the cache of Node 20. */
const PARAMETERS = 'exports, require, module, __filename, __dirname, importModule';

/** The exports of the first file, and what writes the code of all files that were compiled to the cache. */
export interface Loaded {
  readonly exports: unknown;
  /** Call it at the end: only then are the functions compiled that the process used. */
  keepCode(): void;
}

/**
 * Loads CommonJS files of one folder, with the code that V8 compiled for an earlier process. Compiling them takes about a
 * third of a command's time. The files `require` each other by `./<name>`, and call `importModule` instead of `import`.
 *
 * @param entry path of the first file
 */
export function loadCompiled(entry: string, cache: CodeCache): Loaded {
  const folder = path.dirname(entry);
  const requireOther = createRequire(entry);
  const modules = new Map<string, { exports: object }>();
  const compiled: (() => void)[] = [];
  const load = (file: string): object => {
    const loaded = modules.get(file);
    if (loaded !== undefined) return loaded.exports;
    const module = { exports: {} };
    modules.set(file, module);
    compile(file)(module.exports, requireFrom, module, file, folder, importModule);
    return module.exports;
  };
  const requireFrom = (id: string): unknown =>
    id.startsWith('./') ? load(path.join(folder, id)) : requireOther(id);
  const importModule = (id: string): Promise<unknown> =>
    import(id.startsWith('.') ? pathToFileURL(path.join(folder, id)).href : id);
  const compile = (file: string): Wrapper => {
    const source = readFileSync(file);
    const cachedData = cache.read(file, source);
    const script = new vm.Script(`(function (${PARAMETERS}) {${source.toString('utf8')}\n})`, {
      filename: file,
      ...(cachedData === undefined ? {} : { cachedData }),
    });
    if (cachedData === undefined || script.cachedDataRejected === true)
      compiled.push(() => cache.write(file, source, () => script.createCachedData()));
    return script.runInThisContext() as Wrapper;
  };
  const keepCode = (): void => {
    for (const write of compiled) write();
  };
  return { exports: load(entry), keepCode };
}
