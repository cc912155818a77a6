/**
 * A text without the characters at its end that are in `chars`. The expression `/x+$/` would read each run of `x` in the
 * text once for each of its characters.
 */
export function withoutEnd(text: string, chars: string): string {
  let end = text.length;
  while (end > 0 && chars.includes(text[end - 1]!)) end--;
  return text.slice(0, end);
}
