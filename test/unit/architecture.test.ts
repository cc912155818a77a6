import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

/** Folders, and the folders that each may import from (docs/explanation/architecture.md#components). */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'src/core': [],
  'src/json': ['src/core'],
  'src/api': ['src/core', 'src/json'],
  'src/lake': ['src/core'],
  'src/table': ['src/core', 'src/lake'],
  'src/report': ['src/core', 'src/lake'],
  'src/config': ['src/core'],
  'src/webhook': ['src/core', 'src/api'],
  'src/write-back': ['src/core', 'src/api', 'src/json', 'src/lake'],
  'src/simulator': [],
  'src/servers': ['src/core'],
  workflows: ['src/core', 'src/lake'],
  activities: ['src/core', 'src/api', 'src/lake', 'src/table', 'src/report', 'src/write-back'],
  'src/temporal': [
    'src/core',
    'src/json',
    'src/api',
    'src/lake',
    'src/table',
    'src/report',
    'src/config',
    'src/write-back',
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
    'src/report',
    'src/config',
    'src/write-back',
    'src/temporal',
    'src/webhook',
    'activities',
    'workflows',
  ],
};

/** What a workflow may reach: it runs in a sandbox without Node. */
const SANDBOX_SAFE = ['@temporalio/workflow', '@temporalio/common'];

interface Import {
  readonly file: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

const files = ['src', 'workflows', 'activities'].flatMap((folder) => list(join(ROOT, folder)));
const imports = files.flatMap(importsOf);

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
});
