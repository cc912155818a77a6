/** The media types of the lake's objects, by the end of their names. The first match counts. */
const TYPES = [
  ['.gz', 'application/gzip'],
  ['.csv', 'text/csv'],
  ['.json', 'application/json'],
  ['.ndjson', 'application/x-ndjson'],
  ['.parquet', 'application/vnd.apache.parquet'],
] as const;

/** The `Content-Type` of an object. Files without a known name hold binary lists. `Content-Encoding` is never set. */
export function contentTypeOf(key: string): string {
  return TYPES.find(([end]) => key.endsWith(end))?.[1] ?? 'application/octet-stream';
}
