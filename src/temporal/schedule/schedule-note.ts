const SEPARATOR = '; earlier: ';
/** Older notes are dropped, because a Schedule is described often. */
const MAX_NOTES = 5;

/** A Schedule has one note. The new one comes first; the same note twice in a row is kept once. */
export function addNote(before: string | undefined, note: string): string {
  const earlier = (before ?? '').split(SEPARATOR).filter((one) => one !== '');
  if (earlier[0] === note) earlier.shift();
  return [note, ...earlier].slice(0, MAX_NOTES).join(SEPARATOR);
}
