import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Pair, visit } from 'yaml';
import type { PathPart } from './problems.js';

/** Offset of the deepest part of the path that exists in the text. */
export function offsetOf(
  doc: Document.Parsed,
  path: readonly PathPart[],
  at: 'key' | 'value',
): number | null {
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

/** The path of the key at an offset. */
export function pathOfKey(doc: Document.Parsed, offset: number): PathPart[] {
  let found: PathPart[] = [];
  visit(doc, {
    Pair(_, pair, parents) {
      if (!isScalar(pair.key) || pair.key.range?.[0] !== offset) return undefined;
      found = pathTo(pair, parents);
      return visit.BREAK;
    },
  });
  return found;
}

/** Finds `__proto__` keys, which are valid YAML but would change the prototype of the resulting object. */
export function protoKeys(doc: Document.Parsed): { path: PathPart[]; offset: number }[] {
  const found: { path: PathPart[]; offset: number }[] = [];
  visit(doc, {
    Pair(_, pair, parents) {
      if (!isScalar(pair.key) || pair.key.value !== '__proto__') return;
      found.push({ path: pathTo(pair, parents), offset: pair.key.range?.[0] ?? 0 });
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
