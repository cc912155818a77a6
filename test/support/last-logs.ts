/** Lines of each source that a failure shows. */
const LINES = 20;
/** Sources that a failure shows: those that have spoken last. */
const SOURCES = 4;

const sources = new Map<string, string[]>();

/** Keeps the last lines of a source, such as a worker, for `lastLogs`. Returns the function that takes its output. */
export function logOf(source: string): (text: string) => void {
  const lines: string[] = [];
  return (text) => {
    lines.push(...text.split('\n').filter((line) => line !== ''));
    lines.splice(0, lines.length - LINES);
    sources.delete(source);
    sources.set(source, lines);
    if (sources.size > SOURCES) sources.delete(sources.keys().next().value!);
  };
}

/** The last lines that the sources have said. */
export function lastLogs(): string {
  return [...sources]
    .filter(([, lines]) => lines.length > 0)
    .map(([source, lines]) => [`-- ${source}`, ...lines].join('\n'))
    .join('\n');
}
