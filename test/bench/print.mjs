// How benchmarks print their figures.

export function title(text) {
  console.log(`\n${text}`);
}

export function say(text) {
  console.log(`  ${text}`);
}

/** Prints rows of cells as columns. */
export function print(rows) {
  const widths = rows[0].map((_, at) => Math.max(...rows.map((row) => row[at].length)));
  for (const row of rows)
    say(
      row
        .map((cell, at) => cell.padEnd(widths[at]))
        .join('  ')
        .trimEnd(),
    );
}

export function count(value) {
  return Math.round(value).toLocaleString('en-US');
}

export function mib(bytes) {
  return (bytes / 1024 / 1024).toFixed(1);
}
