/**
 * Parses a URL; `null` if it is none. `URL.canParse` is no help: in Node 20, once it is called often enough to be compiled,
 * it rejects texts with characters such as `ü`.
 *
 * @param base what a relative URL refers to
 */
export function parseUrl(text: string, base?: string): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}
