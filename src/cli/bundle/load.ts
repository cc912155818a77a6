import { readFileSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import path from 'node:path';
import vm from 'node:vm';
import type { CodeCache } from './code-cache.js';

type Wrapper = (
  exports: object,
  require: (id: string) => unknown,
  module: { exports: object },
  filename: string,
  dirname: string,
) => void;

/**
 * Loads CommonJS files of one folder, which may `require` each other by `./<name>`, with the code that V8 compiled for an
 * earlier process. Compiling them takes about a third of a command's time. The first process that loads a file leaves its
 * code, with all functions that it used, to later ones.
 *
 * @param entry path of the first file
 * @returns its exports
 */
export function loadCompiled(entry: string, cache: CodeCache): unknown {
  const folder = path.dirname(entry);
  const requireOther = createRequire(entry);
  const modules = new Map<string, { exports: object }>();
  const compiled: (() => void)[] = [];
  const load = (file: string): object => {
    const loaded = modules.get(file);
    if (loaded !== undefined) return loaded.exports;
    const module = { exports: {} };
    modules.set(file, module);
    compile(file)(module.exports, requireFrom, module, file, folder);
    return module.exports;
  };
  const requireFrom = (id: string): unknown =>
    id.startsWith('./') ? load(path.join(folder, id)) : requireOther(id);
  const compile = (file: string): Wrapper => {
    const source = readFileSync(file);
    const cachedData = cache.read(file, source);
    const script = new vm.Script(Module.wrap(source.toString('utf8')), {
      filename: file,
      ...(cachedData === undefined ? {} : { cachedData }),
      importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    if (cachedData === undefined || script.cachedDataRejected === true)
      compiled.push(() => cache.write(file, source, () => script.createCachedData()));
    return script.runInThisContext() as Wrapper;
  };
  // Not before: only now are the functions compiled that the process used.
  process.on('exit', () => {
    for (const write of compiled) write();
  });
  return load(entry);
}
