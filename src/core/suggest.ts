/**
 * The most similar candidate, or `undefined` if none is similar enough. Ignores case and punctuation (`base_url`,
 * `baseUrl`) and tolerates a few wrong letters.
 */
export function suggest(found: string, candidates: readonly string[]): string | undefined {
  // The cost of the edit distance is the product of the lengths.
  if (found.length > 60) return undefined;
  const bare = simplify(found);
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(bare.length / 3)) + 1;
  for (const candidate of candidates) {
    // A prefix (`flat` for `flatten`) is a good suggestion despite its large edit distance.
    const isPrefix = bare.length >= 3 && simplify(candidate).startsWith(bare);
    const distance = isPrefix ? 0.5 : editDistance(bare, simplify(candidate));
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** ` Did you mean "x"?` to append to a message, or an empty string. */
export function didYouMean(found: string, candidates: readonly string[]): string {
  const suggestion = suggest(found, candidates);
  return suggestion === undefined ? '' : ` Did you mean ${JSON.stringify(suggestion)}?`;
}

function simplify(name: string): string {
  return name.toLowerCase().replace(/[-_ .]/g, '');
}

/** Optimal string alignment distance: Levenshtein distance that counts swapping two adjacent letters as one edit. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, beforeLast[j - 2]! + 1);
      }
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}
