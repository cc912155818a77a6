// Which unit tests are nearest to a file: those that import it, and those that import its importers.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const FOLDERS = ['src', 'workflows', 'activities', 'test/unit', 'test/support'];

/** Paths of all TypeScript files, relative to the project. */
function filesIn(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(folder, name))
    .filter((name) => name.endsWith('.ts'));
}

/** The files of the project that a file imports. */
function importsOf(file) {
  const text = readFileSync(file, 'utf8');
  return [...text.matchAll(/\b(?:from|import\()\s*'(\.[^']+)\.js'/g)]
    .map(([, target]) => `${path.join(path.dirname(file), target)}.ts`)
    .filter((target) => existsSync(target));
}

/** By path, the files that import it. */
export function importersOfAll() {
  const importers = new Map();
  for (const file of FOLDERS.flatMap(filesIn)) {
    for (const target of importsOf(file)) importers.set(target, [...(importers.get(target) ?? []), file]);
  }
  return importers;
}

const isUnitTest = (file) => file.startsWith('test/unit/') && file.endsWith('.test.ts');

/**
 * Unit tests by their distance from a changed file: 0 for itself, 1 for those that import it, 2 for those of its importers.
 *
 * @param {string} changed a path relative to the project
 * @param {number} [farthest] the greatest distance
 * @returns {Map<string, number>} distance by path of a test
 */
export function nearestTests(changed, importers = importersOfAll(), farthest = 2) {
  const found = new Map(isUnitTest(changed) ? [[changed, 0]] : []);
  const seen = new Set([changed]);
  let files = [changed];
  for (let distance = 1; distance <= farthest && files.length > 0; distance++) {
    files = [...new Set(files.flatMap((file) => importers.get(file) ?? []))].filter(
      (file) => !seen.has(file),
    );
    for (const file of files) seen.add(file);
    for (const test of files.filter(isUnitTest)) found.set(test, distance);
  }
  return found;
}

/** The unit tests of several changed files, and those that concern every change. */
export function testsOfChange(changed) {
  const importers = importersOfAll();
  const near = changed.filter(existsSync).flatMap((file) => [...nearestTests(file, importers).keys()]);
  const ofPages = changed.some((file) => file.endsWith('.md')) ? ['test/unit/docs'] : [];
  return [...new Set(['test/unit/architecture.test.ts', ...ofPages, ...near])];
}
