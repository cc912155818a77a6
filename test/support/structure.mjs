// `npm run structure`: measures the source. With a git revision it measures that one, to compare before and after:
// `npm run structure -- 425c84e`.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDERS = ['src', 'workflows', 'activities'];
const LAZY_IMPORT = /import\('([^']+)'\)/g;
const IMPORT = /(?:^|\n)\s*(?:import|export)\s+(?:type\s)?[^;'"]*?from\s+'([^']+)'|import\('([^']+)'\)/g;

/** The TypeScript source, as path and text: of the working tree, or of a git revision. */
export function readSources(revision) {
  const names = revision === undefined ? listTree() : listRevision(revision);
  const sources = names.filter((name) => name.endsWith('.ts')).sort();
  return new Map(
    sources.map((name) => [name, revision === undefined ? readTree(name) : readRevision(revision, name)]),
  );
}

/** Each import of one source file by another, once for each pair; types count, packages do not. */
export function importEdges(sources) {
  return [...sources].flatMap(([from, text]) => {
    const targets = new Set([...text.matchAll(IMPORT)].map(([, to, dynamic]) => to ?? dynamic));
    return [...targets]
      .filter((to) => to.startsWith('.'))
      .map((to) => ({ from, to: resolveImport(from, to) }))
      .filter(({ to }) => sources.has(to));
  });
}

/** Groups of nodes that reach each other along the edges (Tarjan's algorithm); single nodes are left out. */
export function findCycles(edges) {
  const next = groupBy(edges, ({ from }) => from);
  const order = new Map();
  const low = new Map();
  const stack = [];
  const cycles = [];
  const visit = (node) => {
    order.set(node, order.size);
    low.set(node, order.get(node));
    stack.push(node);
    for (const { to } of next.get(node) ?? []) {
      if (!order.has(to)) visit(to);
      if (stack.includes(to)) low.set(node, Math.min(low.get(node), low.get(to)));
    }
    if (low.get(node) !== order.get(node)) return;
    const group = stack.splice(stack.indexOf(node));
    if (group.length > 1) cycles.push(group.sort());
  };
  for (const { from } of edges) if (!order.has(from)) visit(from);
  return cycles;
}

/**
 * Groups of neighbours that import each other, where at least one is a folder. Neighbours are the folders and the files
 * within one folder; an import counts for the two neighbours in the folder that its files share. The top of the
 * repository is left out, because `workflows` and `activities` stand between folders of `src`.
 */
export function findFolderCycles(edges) {
  const between = edges.map(({ from, to }) => {
    const [a, b] = [from.split('/'), to.split('/')];
    const shared = a.findIndex((part, at) => part !== b[at]);
    const neighbour = (parts) => parts.slice(0, shared + 1).join('/');
    return { parent: a.slice(0, shared).join('/'), from: neighbour(a), to: neighbour(b) };
  });
  return [...groupBy(between, ({ parent }) => parent)]
    .filter(([parent]) => parent !== '')
    .flatMap(([, inside]) => findCycles(inside))
    .filter((group) => group.some((neighbour) => !neighbour.endsWith('.ts')));
}

/**
 * Files that one other file imports. `lines` are those of both together. `isLazy`: the importer loads the file when it
 * needs it.
 */
export function singleImporters(sources) {
  const importers = groupBy(importEdges(sources), ({ to }) => to);
  return [...importers].flatMap(([file, [{ from }, ...others]]) => {
    if (others.length > 0) return [];
    const loaded = [...sources.get(from).matchAll(LAZY_IMPORT)].map(([, to]) => resolveImport(from, to));
    const lines = lineCount(sources.get(file)) + lineCount(sources.get(from));
    return [{ file, importer: from, lines, isLazy: loaded.includes(file) }];
  });
}

/** File names that several files have, each with these files. */
export function repeatedNames(sources) {
  const byName = groupBy([...sources.keys()], (file) => path.posix.basename(file));
  return new Map([...byName].filter(([, files]) => files.length > 1));
}

/** The figures of some source: see `main` for what each one means. */
export function measure(sources) {
  const edges = importEdges(sources);
  const sizes = new Map([...sources].map(([file, text]) => [file, lineCount(text)]));
  const lines = sum([...sizes.values()]);
  const single = singleImporters(sources);
  const cycles = findCycles(edges);
  const repeated = repeatedNames(sources);
  return {
    lines,
    codeLines: sum([...sources.values()].map(codeLineCount)),
    files: sizes.size,
    medianLineFileSize: medianLineFileSize([...sizes.values()], lines),
    edgesPerThousandLines: Math.round((edges.length / lines) * 1000),
    singleImporterFiles: single.length,
    singleImporterLines: sum(single.map(({ file }) => sizes.get(file))),
    cycles: cycles.length,
    filesInCycles: sum(cycles.map((group) => group.length)),
    folderCycles: findFolderCycles(edges).length,
    repeatedNames: repeated.size,
    filesWithRepeatedNames: sum([...repeated.values()].map((files) => files.length)),
  };
}

function resolveImport(from, to) {
  return path.posix.join(path.posix.dirname(from), to).replace(/\.js$/, '.ts');
}

function listTree() {
  return FOLDERS.flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true }).map((name) => path.posix.join(folder, name)),
  );
}

function listRevision(revision) {
  return git('ls-tree', '-r', '--name-only', revision, ...FOLDERS)
    .trim()
    .split('\n');
}

function readTree(name) {
  return readFileSync(path.join(ROOT, name), 'utf8');
}

function readRevision(revision, name) {
  return git('show', `${revision}:${name}`);
}

function git(...args) {
  return execFileSync('git', ['-C', ROOT, ...args], { encoding: 'utf8', maxBuffer: 1 << 26 });
}

function lineCount(text) {
  return text.split('\n').length - 1;
}

/** Lines that hold more than a comment. */
function codeLineCount(text) {
  let inComment = false;
  let count = 0;
  for (const line of text.split('\n').map((raw) => raw.trim())) {
    const starts = line.startsWith('/*');
    if (line !== '' && !inComment && !starts && !line.startsWith('//')) count += 1;
    inComment = (inComment || starts) && !line.includes('*/');
  }
  return count;
}

/** The size of the file that holds the middle line when the files are sorted by size. */
function medianLineFileSize(sizes, lines) {
  let seen = 0;
  for (const size of sizes.sort((a, b) => a - b)) {
    seen += size;
    if (seen * 2 >= lines) return size;
  }
  return 0;
}

function groupBy(values, keyOf) {
  const groups = new Map();
  for (const value of values) {
    const key = keyOf(value);
    if (groups.has(key)) groups.get(key).push(value);
    else groups.set(key, [value]);
  }
  return groups;
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

function main(revisions) {
  const columns = [...revisions, undefined].map((revision) => [
    revision ?? 'working tree',
    measure(readSources(revision)),
  ]);
  const rows = [
    ['lines', 'lines'],
    ['code lines (not blank, not comment)', 'codeLines'],
    ['files', 'files'],
    ['lines of the file that holds the median line', 'medianLineFileSize'],
    ['imports between files per 1,000 lines', 'edgesPerThousandLines'],
    ['files with one importer', 'singleImporterFiles'],
    ['lines in files with one importer', 'singleImporterLines'],
    ['import cycles', 'cycles'],
    ['files in import cycles', 'filesInCycles'],
    ['import cycles of folders', 'folderCycles'],
    ['repeated file names', 'repeatedNames'],
    ['files with a repeated name', 'filesWithRepeatedNames'],
  ];
  const print = (label, values) =>
    console.log([label.padEnd(46), ...values.map((value) => String(value).padStart(14))].join(''));
  print(
    '',
    columns.map(([name]) => name),
  );
  for (const [label, key] of rows)
    print(
      label,
      columns.map(([, figures]) => figures[key]),
    );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2));
