/** What the application does with the news of an export. */
export async function announce(rows: number): Promise<string> {
  return `${rows} rows are in the lake`;
}
