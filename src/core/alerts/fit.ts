/** Cuts a text to a number of UTF-16 units, between two characters, with an ellipsis at the end. */
export function cutCharacters(text: string, max: number): string {
  if (text.length <= max) return text;
  // Half a surrogate pair cannot be encoded.
  return `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Joins lines and a last line. If they are too long together, lines before the last are left out and counted. */
export function fitted(lines: readonly string[], last: string, max: number): string {
  for (let kept = lines.length; kept > 1; kept--) {
    const left = lines.length - kept;
    const shown = [...lines.slice(0, kept), ...(left === 0 ? [] : [`and ${left} more lines`]), last].join(
      '\n',
    );
    if (shown.length <= max) return shown;
  }
  return cutCharacters([...lines.slice(0, 1), last].join('\n'), max);
}
