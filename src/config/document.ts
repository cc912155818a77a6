import { type Document, LineCounter, parseDocument, visit } from 'yaml';
import type { PathPart, RawProblem } from './problems.js';
import { syntaxMessage } from './syntax-message.js';
import { offsetOf, pathOfKey, poisonKeys } from './yaml-places.js';

/** Longer than any configuration; keeps a wrong file name from being parsed for minutes. */
const MOST_CHARACTERS = 1 << 20;

/** Aliases expand while the tree is made; the product of nested ones is what a "billion laughs" file lives on. */
const MOST_ALIASES = 100;

const MOST_SYNTAX_PROBLEMS = 10;

/** A place in the text, both counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** A YAML (or JSON) text as plain data, with the way back from a path to its place in the text. */
export interface ConfigDocument {
  /** `undefined` when the text cannot be read as one document. */
  readonly tree: unknown;
  readonly problems: readonly (RawProblem & { readonly place: Place | null })[];
  /** The place of a path, or of its nearest parent that is in the text. */
  locate(path: readonly PathPart[], at: 'key' | 'value'): Place | null;
}

/**
 * Reads a text by the rules of YAML 1.2 (`yes` and dates are texts), with merge keys. Duplicate keys and tags are
 * problems that leave the tree readable; other faults of syntax leave none. Never throws, and never quotes the text,
 * which may hold a secret.
 */
export function readDocument(text: string): ConfigDocument {
  if (text.length > MOST_CHARACTERS)
    return unreadable('found more than 1 MiB of text; this is no configuration');
  const lines = new LineCounter();
  const doc = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    merge: true,
    stringKeys: true,
    logLevel: 'error',
  });
  const placeOf = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const problems = [...doc.errors, ...doc.warnings].map((fault) => ({
    code: fault.code,
    path: fault.code === 'DUPLICATE_KEY' ? pathOfKey(doc, fault.pos[0]) : [],
    message: syntaxMessage(fault.code, fault.message),
    place: placeOf(fault.pos[0]),
  }));
  problems.push(
    ...poisonKeys(doc).map(({ path, offset }) => ({
      code: 'DUPLICATE_KEY' as const,
      path,
      message: 'found the key "__proto__", which no map may have',
      place: placeOf(offset),
    })),
  );
  const locate = (path: readonly PathPart[], at: 'key' | 'value'): Place | null => {
    const offset = offsetOf(doc, path, at);
    return offset === null ? null : placeOf(offset);
  };
  const broken = problems.some(({ code }) => code !== 'DUPLICATE_KEY' && code !== 'TAG_RESOLVE_FAILED');
  const listed = problems
    .slice(0, MOST_SYNTAX_PROBLEMS)
    .map(({ path, message, place }) => ({ path, message, place }));
  if (broken) return { tree: undefined, problems: listed, locate };
  if (doc.contents === null) return unreadable('the file is empty');
  try {
    return { tree: doc.toJS({ maxAliasCount: MOST_ALIASES }), problems: listed, locate };
  } catch (error) {
    // yaml throws ReferenceErrors here: an alias without its anchor, or too many of them.
    const many = error instanceof Error && error.message.startsWith('Excessive alias count');
    return unreadable(
      many
        ? `aliases (*name) expand to more than ${MOST_ALIASES} copies; write the values out`
        : 'an alias (a value that begins with *) has no anchor (&name) before it; put texts that begin with * in quotes',
      unresolvedAlias(doc, placeOf),
    );
  }
}

function unreadable(message: string, place: Place | null = null): ConfigDocument {
  return { tree: undefined, problems: [{ path: [], message, place }], locate: () => null };
}

function unresolvedAlias(doc: Document.Parsed, placeOf: (offset: number) => Place): Place | null {
  let place: Place | null = null;
  visit(doc, {
    Alias(_, alias) {
      if (alias.resolve(doc) !== undefined) return undefined;
      place = alias.range ? placeOf(alias.range[0]) : null;
      return visit.BREAK;
    },
  });
  return place;
}
