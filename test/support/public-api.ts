import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/** The entries of the package whose functions users call, and what they import from. */
export const ENTRIES = {
  'src/index.ts': 'temporal-worktrack',
  'workflows/index.ts': 'temporal-worktrack/workflows',
  'src/simulator/index.ts': 'temporal-worktrack/simulator',
} as const;

/** A function or class that an entry exports. */
export interface PublicName {
  readonly entry: keyof typeof ENTRIES;
  readonly name: string;
  readonly kind: 'function' | 'class' | 'constant';
  /** The docstring without its comment marks; `''` for none. */
  readonly doc: string;
}

/** Everything but types that the entries of the package export. */
export function publicNames(): PublicName[] {
  return (Object.keys(ENTRIES) as (keyof typeof ENTRIES)[]).flatMap((entry) =>
    exportsOf(read(entry)).map(({ name, from }) => {
      const found = declarationOf(name, join(dirname(entry), from));
      return { entry, name, ...found };
    }),
  );
}

/** The code of the example in a docstring; `null` for none. */
export function exampleOf({ doc }: Pick<PublicName, 'doc'>): string | null {
  const at = doc.indexOf('@example\n');
  if (at === -1) return null;
  return doc.slice(at + '@example\n'.length).split(/^@\w+/m)[0]!;
}

function read(file: string): string {
  return readFileSync(join(ROOT, file.replace(/\.js$/, '.ts')), 'utf8');
}

/** The values that a file exports from other files. */
function exportsOf(text: string): { name: string; from: string }[] {
  return [...text.matchAll(/^export \{([^}]*)\} from '([^']+)'/gm)].flatMap(([, names, from]) =>
    names!
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '' && !name.startsWith('type '))
      .map((name) => ({ name, from: from! })),
  );
}

function declarationOf(name: string, file: string): Pick<PublicName, 'kind' | 'doc'> {
  const text = read(file);
  const found = new RegExp(`^export (?:abstract |async )*(function|class|const)\\*? ${name}\\b`, 'm').exec(
    text,
  );
  if (found !== null)
    return {
      kind: found[1] === 'const' ? 'constant' : (found[1] as 'function'),
      doc: docOf(text.slice(0, found.index)),
    };
  const direct = exportsOf(text).find((one) => one.name === name)?.from;
  const stars = [...text.matchAll(/^export \* from '([^']+)'/gm)].map(([, from]) => from!);
  for (const from of direct === undefined ? stars : [direct]) {
    try {
      return declarationOf(name, join(dirname(file), from));
    } catch {
      // Another file declares it.
    }
  }
  throw new Error(`${file} does not declare ${name}`);
}

function docOf(before: string): string {
  const text = before.trimEnd();
  if (!text.endsWith('*/')) return '';
  return text
    .slice(text.lastIndexOf('/**') + 3, -2)
    .split('\n')
    .map((line) => line.replace(/^ \* ?/, ''))
    .join('\n')
    .trim();
}

/** A module that contains all examples of docstrings, each in a function, for the compiler to check. */
export function examplesModule(): string {
  const names = publicNames();
  const seen = new Set<string>();
  const imports = Object.entries(ENTRIES).map(([entry, from]) => {
    const own = names.filter((one) => one.entry === entry && !seen.has(one.name)).map(({ name }) => name);
    for (const name of own) seen.add(name);
    return `import { ${own.join(', ')} } from '${from}';`;
  });
  const examples = names.flatMap((one, at) => {
    const code = exampleOf(one);
    return code === null ? [] : [`// ${one.name}\nexport const example${at} = async () => {\n${code}\n};`];
  });
  return [...imports, PRELUDE, ...examples].join('\n');
}

/** What the examples take for granted. */
const PRELUDE = `
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { Runtime, Worker } from '@temporalio/worker';
import { executeChild } from '@temporalio/workflow';
import type {
  ConnectionSettings, ExportView, MirrorStatus, ObjectStore, PublishedReport, RunReport, Settings, TemporalClient,
  WriteBackInput,
} from 'temporal-worktrack';
declare const settings: Settings;
declare const connection: ConnectionSettings;
declare const store: ObjectStore;
declare const temporal: TemporalClient;
declare const workflowId: string;
declare const report: PublishedReport;
declare const input: WriteBackInput;
`;
