import {
  type Document,
  type ErrorCode,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  visit,
} from 'yaml';
import type { PathPart, RawProblem } from './problems.js';

/** Longer than any configuration. Without this limit, parsing a wrong file could take minutes. */
const MAX_CHARACTERS = 1 << 20;

/** Limits the expansion of nested aliases (the "billion laughs" attack). */
const MAX_ALIASES = 100;

const MAX_SYNTAX_PROBLEMS = 10;

/** A position in the text; line and column start at 1. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** A YAML (or JSON) text as plain data, with a function that finds the position of a path in the text. */
interface ConfigDocument {
  /** `undefined` if the text is not one valid document. */
  readonly tree: unknown;
  readonly problems: readonly (RawProblem & { readonly place: TextPosition | null })[];
  /** The position of a path, or of its nearest parent in the text. */
  locate(path: readonly PathPart[], at: 'key' | 'value'): TextPosition | null;
}

/**
 * Parses a text as YAML 1.2 (`yes` and dates are strings), with merge keys. Duplicate keys and unknown tags are problems,
 * but the tree stays readable; after other syntax errors there is no tree. Never throws, and never quotes the text, which
 * may contain a secret.
 */
export function readDocument(text: string): ConfigDocument {
  if (text.length > MAX_CHARACTERS)
    return unreadable('found more than 1 MiB of text, which is too long for a configuration');
  const lines = new LineCounter();
  const doc = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    merge: true,
    stringKeys: true,
    logLevel: 'error',
  });
  const placeOf = (offset: number): TextPosition => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const faults = [...doc.errors, ...doc.warnings];
  const problems = faults.map((fault) => ({
    path:
      fault.code === 'DUPLICATE_KEY'
        ? (findKeys(doc, (_, offset) => offset === fault.pos[0])[0]?.path ?? [])
        : [],
    message: syntaxMessage(fault.code, fault.message),
    place: placeOf(fault.pos[0]),
  }));
  problems.push(
    // `__proto__` is valid YAML, but would change the prototype of the resulting object.
    ...findKeys(doc, ({ value }) => value === '__proto__').map(({ path, offset }) => ({
      path,
      message: 'found the key "__proto__", which is not allowed',
      place: placeOf(offset),
    })),
  );
  const locate = (path: readonly PathPart[], at: 'key' | 'value'): TextPosition | null => {
    const offset = offsetOf(doc, path, at);
    return offset === null ? null : placeOf(offset);
  };
  const broken = faults.some(({ code }) => code !== 'DUPLICATE_KEY' && code !== 'TAG_RESOLVE_FAILED');
  const listed = problems.slice(0, MAX_SYNTAX_PROBLEMS);
  if (broken) return { tree: undefined, problems: listed, locate };
  if (doc.contents === null) return unreadable('the file is empty');
  try {
    return { tree: doc.toJS({ maxAliasCount: MAX_ALIASES }), problems: listed, locate };
  } catch (error) {
    // Besides aliases without an anchor, yaml throws a ReferenceError for too many aliases, and an Error for the value of `<<`.
    const place = unresolvedAlias(doc, placeOf);
    if (place !== null)
      return unreadable(
        'an alias (a value that starts with *) has no anchor (&name) before it; quote strings that start with *',
        place,
      );
    return unreadable(
      error instanceof ReferenceError
        ? `aliases (*name) expand to more than ${MAX_ALIASES} copies; write out the values`
        : 'the value of a merge key (<<) is not a map; write a map, or an alias (*name) of one',
    );
  }
}

function unreadable(message: string, place: TextPosition | null = null): ConfigDocument {
  return { tree: undefined, problems: [{ path: [], message, place }], locate: () => null };
}

function unresolvedAlias(
  doc: Document.Parsed,
  placeOf: (offset: number) => TextPosition,
): TextPosition | null {
  let place: TextPosition | null = null;
  visit(doc, {
    Alias(_, alias) {
      if (alias.resolve(doc) !== undefined) return undefined;
      place = alias.range ? placeOf(alias.range[0]) : null;
      return visit.BREAK;
    },
  });
  return place;
}

const MESSAGES: Partial<Record<ErrorCode, string>> = {
  DUPLICATE_KEY: 'the same key appears twice in this map',
  MULTIPLE_DOCS: 'found a second document (---); a configuration is one document',
  RESOURCE_EXHAUSTION: 'lists or maps are nested too deeply',
  TAG_RESOLVE_FAILED: 'found an unknown tag (!name); quote strings that start with !',
  BAD_SCALAR_START: 'a string cannot start with this character; put it in quotes, such as "@daily"',
  BAD_DIRECTIVE: 'found a directive (a line that starts with %); quote strings that start with %',
  TAB_AS_INDENT: 'found a tab as indentation; YAML allows only spaces',
};

/**
 * Describes a syntax error without the file text that yaml quotes in some messages (at the end, after a colon; for an
 * invalid escape, its two to ten characters).
 */
function syntaxMessage(code: ErrorCode, message: string): string {
  const own = MESSAGES[code];
  if (own !== undefined) return own;
  const quotes = code === 'UNEXPECTED_TOKEN' || code === 'BAD_ALIAS';
  const rest = quotes ? message.replace(/:\s.*$/s, '') : message.split('\n')[0];
  return code === 'BAD_DQ_ESCAPE'
    ? 'found an invalid escape in a double-quoted string; write \\\\ for a backslash'
    : `the YAML is malformed: ${rest}`;
}

/** Offset of the deepest part of the path that exists in the text. */
function offsetOf(doc: Document.Parsed, path: readonly PathPart[], at: 'key' | 'value'): number | null {
  let node: Node | null = doc.contents;
  let offset = node?.range?.[0] ?? null;
  for (const [depth, part] of path.entries()) {
    const here: Node | null | undefined = isAlias(node) ? node.resolve(doc) : node;
    if (isMap(here)) {
      const pair = here.items.find((item) => isScalar(item.key) && item.key.value === part) as
        | Pair<Node, Node | null>
        | undefined;
      if (!pair) return offset;
      const keyOffset = pair.key.range?.[0] ?? offset;
      const wantsKey = depth === path.length - 1 && at === 'key';
      offset = wantsKey ? keyOffset : (pair.value?.range?.[0] ?? keyOffset);
      node = pair.value;
    } else if (isSeq(here) && typeof part === 'number') {
      node = (here.items[part] ?? null) as Node | null;
      offset = node?.range?.[0] ?? offset;
    } else {
      return offset;
    }
  }
  return offset;
}

/** The paths and offsets of the keys that match. */
function findKeys(
  doc: Document.Parsed,
  matches: (key: Scalar, offset: number) => boolean,
): { path: PathPart[]; offset: number }[] {
  const found: { path: PathPart[]; offset: number }[] = [];
  visit(doc, {
    Pair(_, pair, parents) {
      if (!isScalar(pair.key)) return;
      const offset = pair.key.range?.[0] ?? 0;
      if (matches(pair.key, offset)) found.push({ path: pathTo(pair, parents), offset });
    },
  });
  return found;
}

function pathTo(pair: Pair, parents: readonly unknown[]): PathPart[] {
  const chain = [...parents, pair];
  return chain.flatMap((node, i): PathPart[] => {
    const parent = chain[i - 1];
    if (isSeq(parent)) return [parent.items.indexOf(node)];
    const key = typeof node === 'object' && node !== null && 'key' in node ? node.key : undefined;
    return isScalar(key) ? [String(key.value)] : [];
  });
}
