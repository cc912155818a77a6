import type { Mark } from '../documents/stage-file.js';

/** The most marks that are kept of one reading. */
const MAX_MARKS = 16;
/** One page in this many is requested again, at most `MAX_CHECKS` pages. */
const PAGES_PER_CHECK = 16;
const MAX_CHECKS = 8;

/** Adds a mark. If there are too many, it removes every second one, so that the rest are evenly spaced. */
export function withMark(marks: readonly Mark[], mark: Mark): readonly Mark[] {
  const stride = strideOf(marks);
  if (mark.page % stride !== 0) return marks;
  const all = [...marks, mark];
  return all.length <= MAX_MARKS ? all : all.filter(({ page }) => page % (2 * stride) === 0);
}

function strideOf([first, second]: readonly Mark[]): number {
  return first === undefined || second === undefined ? 1 : second.page - first.page;
}

/** The pages to request again after a reading of `pages` pages, evenly spaced; none for a short reading. */
export function marksToCheck(marks: readonly Mark[], pages: number): readonly Mark[] {
  const count = Math.min(MAX_CHECKS, Math.floor(pages / PAGES_PER_CHECK));
  const wanted = Array.from({ length: count }, (_, at) => (pages * (at + 1)) / (count + 1));
  const nearest = wanted.map((page) =>
    marks.reduce<Mark | undefined>(
      (best, mark) =>
        best === undefined || Math.abs(mark.page - page) < Math.abs(best.page - page) ? mark : best,
      undefined,
    ),
  );
  return [...new Set(nearest.filter((mark) => mark !== undefined))];
}
