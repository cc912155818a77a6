import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  findCycles,
  findFolderCycles,
  importEdges,
  readSources,
  repeatedNames,
  singleImporters,
} from '../support/structure.mjs';

const ROOT = resolve(import.meta.dirname, '../..');

/** Folders, and the folders that each may import from (docs/explanation/how-it-works.md#components). */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'src/core': [],
  'src/json': ['src/core'],
  'src/api': ['src/core', 'src/json'],
  'src/lake': ['src/core'],
  'src/table': ['src/core', 'src/lake'],
  'src/sql': ['src/core', 'src/lake', 'src/table'],
  'src/report': ['src/core', 'src/lake'],
  'src/config': ['src/core'],
  'src/webhook': ['src/core', 'src/api'],
  'src/write-back': ['src/core', 'src/api', 'src/json', 'src/lake'],
  'src/simulator': [],
  'src/servers': ['src/core'],
  'src/mirror': ['src/core'],
  'src/run': ['src/core', 'src/api', 'src/lake', 'src/table'],
  workflows: ['src/core', 'src/lake', 'src/mirror', 'src/run'],
  activities: ['src/core', 'src/api', 'src/lake', 'src/table', 'src/report', 'src/write-back', 'src/run'],
  'src/temporal': [
    'src/core',
    'src/json',
    'src/api',
    'src/lake',
    'src/table',
    'src/report',
    'src/config',
    'src/write-back',
    'src/mirror',
    'src/run',
    'activities',
    'workflows',
  ],
  'src/doctor': ['src/core', 'src/api', 'src/lake', 'src/temporal'],
  'src/cli': [
    'src/core',
    'src/doctor',
    'src/json',
    'src/api',
    'src/lake',
    'src/table',
    'src/sql',
    'src/report',
    'src/config',
    'src/write-back',
    'src/temporal',
    'src/webhook',
    'src/servers',
    'src/simulator',
    'src/index.ts',
  ],
  'src/index.ts': [
    'src/core',
    'src/json',
    'src/api',
    'src/lake',
    'src/table',
    'src/sql',
    'src/report',
    'src/config',
    'src/write-back',
    'src/temporal',
    'src/webhook',
    'activities',
    'workflows',
  ],
};

/**
 * Parts that a reader of the main part need not meet. Each has a folder in each program that runs it (the library, workers, the
 * sandbox of workflows, commands), with one door: its `index.ts`. The rest of the program knows no other file of a part.
 */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  'write-back': ['src/write-back', 'activities/write-back', 'workflows/write-back', 'src/cli/write-back'],
  tables: ['src/table'],
  SQL: ['src/sql', 'src/cli/sql'],
  'servers and demo': ['src/servers', 'src/cli/demo'],
  simulator: ['src/simulator'],
};

/** What a workflow may reach: it runs in a sandbox without Node. */
const SANDBOX_SAFE = ['@temporalio/workflow', '@temporalio/common'];

/**
 * Names that several files may have, because these files play the same role, with the paths that play it. Any other
 * name belongs to one file, so that it says where something is.
 */
const ROLES: readonly { readonly role: string; readonly path: RegExp }[] = [
  { role: 'the public interface of a folder', path: /\/index\.ts$/ },
  { role: 'the start of a program', path: /^src\/\w+\/main\.ts$/ },
  { role: 'the errors of a folder', path: /\/errors\.ts$/ },
  { role: 'one of the two stores', path: /^src\/lake\/store\/(file|s3)\/\w+\.ts$/ },
];

/** A file with one importer is a part of it, unless both together are longer than this. */
const MAX_MERGED_LINES = 320;

/**
 * Why a shorter file with one importer is a file nevertheless. Three more reasons need no entry: its importer is the
 * `index.ts` of a folder, is in another folder of `MAY_IMPORT`, or loads the file only when it needs it.
 */
const REASONS: readonly { readonly reason: string; readonly path: RegExp }[] = [
  { reason: 'one check of several', path: /^src\/doctor\/check-/ },
  { reason: 'one of the two stores, or one of the operations of S3', path: /^src\/lake\/store\/(file|s3)\// },
  { reason: 'one of the two formats of an input', path: /^src\/write-back\/json-rows\.ts$/ },
  {
    reason: 'one phase of a run',
    path: /^src\/run\/(preview\/(audit|preview)-run|settle\/confirm-deletes)\.ts$/,
  },
  { reason: 'one section of a page', path: /^src\/report\/(overview|resource)\.ts$/ },
  {
    reason: 'one of the interfaces of a server',
    path: /^src\/simulator\/routes\/handler\.ts$/,
  },
  {
    reason: 'shows the organization of a key, and sends no row',
    path: /^activities\/write-back\/batch-organization\.ts$/,
  },
  { reason: 'is built for the reference, without running a command', path: /^src\/cli\/program\.ts$/ },
  {
    reason: 'a rule that is tested without a server',
    path: /^src\/(webhook\/signature|config\/sdk-endpoint|api\/json\/incomplete-words|run\/settle\/absent-rows|doctor\/try-service\/seen-records|table\/parquet\/(update|object)-file)\.ts$/,
  },
];

/** What does not hold yet. These lists only shrink: an entry that is no longer needed fails the test. */
const KNOWN_CYCLES: readonly (readonly string[])[] = [];
const KNOWN_FOLDER_CYCLES: readonly (readonly string[])[] = [];
const KNOWN_REPEATED_NAMES: readonly string[] = [];

interface Import {
  readonly file: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

const files = ['src', 'workflows', 'activities'].flatMap((folder) => list(join(ROOT, folder)));
const imports = files.flatMap(importsOf);
const sources = readSources();
const edges = importEdges(sources);

function list(path: string): string[] {
  if (!statSync(path).isDirectory()) return path.endsWith('.ts') ? [path] : [];
  return readdirSync(path).flatMap((name) => list(join(path, name)));
}

function importsOf(file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\s+(type\s)?[^;'"]*?from\s+'([^']+)'|import\('([^']+)'\)/g,
  );
  return [...found].map(([, typeOnly, to, dynamic]) => ({
    file,
    to: (to ?? dynamic)!,
    typeOnly: typeOnly !== undefined,
  }));
}

function folderOf(path: string): string {
  const name = relative(ROOT, path);
  return Object.keys(MAY_IMPORT).find((folder) => name === folder || name.startsWith(`${folder}/`)) ?? name;
}

function target({ file, to }: Import): string | null {
  return to.startsWith('.') ? resolve(dirname(file), to).replace(/\.js$/, '.ts') : null;
}

describe('the architecture', () => {
  it('has files in every folder of the diagram, and imports to check', () => {
    for (const folder of Object.keys(MAY_IMPORT))
      expect(
        files.some((file) => folderOf(file) === folder),
        folder,
      ).toBe(true);
    expect(imports.length).toBeGreaterThan(300);
  });

  it('has imports in one direction only', () => {
    const wrong = imports.flatMap((found) => {
      const to = target(found);
      if (to === null) return [];
      const [from, into] = [folderOf(found.file), folderOf(to)];
      return from === into || MAY_IMPORT[from]?.includes(into)
        ? []
        : [`${relative(ROOT, found.file)} imports ${into}`];
    });
    expect(wrong).toEqual([]);
  });

  it.each(Object.entries(PARTS))('knows no file of a part but its doors: %s', (_, folders) => {
    const folderIn = (file: string) => folders.find((folder) => file.startsWith(`${join(ROOT, folder)}/`));
    for (const folder of folders) expect(files).toContain(join(ROOT, folder, 'index.ts'));
    const wrong = imports.flatMap((found) => {
      const to = target(found);
      const folder = to === null ? undefined : folderIn(to);
      if (to === null || folder === undefined || folderIn(found.file) !== undefined) return [];
      return to === join(ROOT, folder, 'index.ts')
        ? []
        : [`${relative(ROOT, found.file)} imports ${relative(ROOT, to)}`];
    });
    expect(wrong, 'import the index.ts of the folder').toEqual([]);
  });

  it('lets workflows import nothing that the sandbox lacks', () => {
    const seen = new Set<string>();
    const wrong: string[] = [];
    const visit = (file: string): void => {
      if (seen.has(file)) return;
      seen.add(file);
      for (const found of importsOf(file).filter(({ typeOnly }) => !typeOnly)) {
        const to = target(found);
        if (to !== null) visit(to);
        else if (!SANDBOX_SAFE.includes(found.to)) wrong.push(`${relative(ROOT, file)} imports ${found.to}`);
      }
      if (
        /\bBuffer\b|\bprocess\./.test(readFileSync(file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, ''))
      ) {
        wrong.push(`${relative(ROOT, file)} uses a global of Node`);
      }
    };
    visit(join(ROOT, 'workflows/index.ts'));
    expect(seen.size).toBeGreaterThan(5);
    expect(wrong).toEqual([]);
  });

  it('does not load the simulator or the servers with the library', () => {
    const library = imports.filter(
      ({ file }) => folderOf(file) === 'src/temporal' || folderOf(file) === 'src/index.ts',
    );
    expect(library.length).toBeGreaterThan(10);
    expect(library.filter(({ to }) => /\/(simulator|servers|cli)\//.test(to))).toEqual([]);
  });

  it('has no files that import each other in a circle', () => {
    expectOnlyKnown(findCycles(edges), KNOWN_CYCLES);
  });

  it('has no folders that import each other, also within src/lake and the others', () => {
    expectOnlyKnown(findFolderCycles(edges), KNOWN_FOLDER_CYCLES);
  });

  it('has a reason for each file with one importer', () => {
    const unexplained = singleImporters(sources).filter(
      ({ file, importer, lines, isLazy }) =>
        lines <= MAX_MERGED_LINES &&
        !isLazy &&
        !importer.endsWith('/index.ts') &&
        folderOf(join(ROOT, file)) === folderOf(join(ROOT, importer)),
    );
    expect(
      unexplained.filter(({ file }) => !REASONS.some(({ path }) => path.test(file))),
      'merge each of these files into its importer, or give a reason',
    ).toEqual([]);
    expect(
      REASONS.filter(({ path }) => !unexplained.some(({ file }) => path.test(file))),
      'no longer needed: remove them from REASONS',
    ).toEqual([]);
  });

  it('declares the documents that several folders share in src/lake/documents only', () => {
    const declared = (pattern: RegExp) =>
      [...sources].flatMap(([file, text]) =>
        [...text.matchAll(pattern)].map(([, name]) => ({ file, name: name! })),
      );
    const inDocuments = ({ file }: { readonly file: string }) => file.startsWith('src/lake/documents/');
    const documents = declared(/^export (?:interface|type|class) (\w+)/gm).filter(inDocuments);
    const names = documents.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['Manifest', 'Pointer', 'PublishedPart', 'RunFile', 'Stage', 'StagedChunk']),
    );
    const all = declared(/^(?:export )?(?:interface|type|class) (\w+)/gm);
    expect(all.filter((one) => !inDocuments(one) && names.includes(one.name))).toEqual([]);
  });

  it('gives a file name to one file, unless several play the same role', () => {
    const repeated = [...repeatedNames(sources)].filter(([, paths]) => !playOneRole(paths));
    const names = repeated.map(([name]) => name);
    expect(
      repeated.filter(([name]) => !KNOWN_REPEATED_NAMES.includes(name)),
      'new repeated names: rename one of these files',
    ).toEqual([]);
    expect(
      KNOWN_REPEATED_NAMES.filter((name) => !names.includes(name)),
      'no longer repeated: remove them from KNOWN_REPEATED_NAMES',
    ).toEqual([]);
  });
});

function playOneRole(paths: readonly string[]): boolean {
  return ROLES.some(({ path }) => paths.every((file) => path.test(file)));
}

/** Each group that was found is part of a known one, and each known one still has a group. */
function expectOnlyKnown(found: readonly string[][], known: readonly (readonly string[])[]): void {
  const within = (group: readonly string[], larger: readonly string[]) =>
    group.every((member) => larger.includes(member));
  expect(
    found.filter((group) => !known.some((larger) => within(group, larger))),
    'new circles of imports',
  ).toEqual([]);
  expect(
    known.filter((larger) => !found.some((group) => within(group, larger))),
    'no longer a circle: remove it from the list of known ones',
  ).toEqual([]);
}
