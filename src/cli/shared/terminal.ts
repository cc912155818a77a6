/** Width of a line on stdout or stderr: of the terminal, or `$COLUMNS`, or without a limit, for other programs. */
export function terminalWidth(
  stream: { readonly isTTY?: boolean; readonly columns?: number } = process.stdout,
  env: NodeJS.ProcessEnv = process.env,
): number {
  if (stream.isTTY === true) return stream.columns || 80;
  return sizeOf(env.COLUMNS) ?? Number.POSITIVE_INFINITY;
}

/** Number of lines of the screen: of the terminal, or `$LINES`, or 24. */
export function terminalHeight(
  stream: { readonly isTTY?: boolean; readonly rows?: number } = process.stdout,
  env: NodeJS.ProcessEnv = process.env,
): number {
  return (stream.isTTY === true && stream.rows) || (sizeOf(env.LINES) ?? 24);
}

function sizeOf(text: string | undefined): number | null {
  return text !== undefined && /^[1-9]\d{1,3}$/.test(text) ? Number(text) : null;
}
