/**
 * The candidate that was probably meant, or `undefined` when none is near: spelled the same but for case and
 * punctuation (`base_url`, `baseUrl`), or a few letters away.
 */
export function suggest(found: string, candidates: readonly string[]): string | undefined {
  // An edit distance costs the product of the lengths, and nobody mistypes a name of this length.
  if (found.length > 60) return undefined;
  const bare = simplify(found);
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(bare.length / 3)) + 1;
  for (const candidate of candidates) {
    // What is cut short (`flat` for `flatten`) is far away in letters and near in meaning.
    const cut = bare.length >= 3 && simplify(candidate).startsWith(bare);
    const distance = cut ? 0.5 : editDistance(bare, simplify(candidate));
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** ` Did you mean "x"?`, or nothing: ready to be put at the end of a message. */
export function didYouMean(found: string, candidates: readonly string[]): string {
  const meant = suggest(found, candidates);
  return meant === undefined ? '' : ` Did you mean ${JSON.stringify(meant)}?`;
}

function simplify(name: string): string {
  return name.toLowerCase().replace(/[-_ .]/g, '');
}

/** Optimal string alignment: Levenshtein's distance with two swapped neighbours counted as one slip. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, at(beforeLast, j - 2) + 1);
      }
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
