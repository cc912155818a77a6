/** What the application does with the outcome of an export: here, it only words it. */
export async function announce(rows: number, failed: readonly string[]): Promise<string> {
  return failed.length === 0 ? `${rows} rows are in the lake` : `not exported: ${failed.join(', ')}`;
}
