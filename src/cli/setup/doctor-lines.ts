import type { ConnectionFinding } from '../../doctor/index.js';
import { colorsFor, printable } from '../shared/output.js';
import { runnableHere } from '../shared/runnable.js';
import { counted, cut, table, wrap } from '../shared/text.js';

/** Indentation below a state. */
const BELOW = '         ';

/** A line for each finding with its remedy below, and a summary at the end. */
export function doctorLines(findings: readonly ConnectionFinding[], width: number): string[] {
  const several = new Set(findings.flatMap(({ connection }) => connection ?? [])).size > 1;
  const rows = findings.map((finding): Row => {
    const { connection, message } = finding;
    const [first = '', ...more] = message.split('\n');
    const prefix = several && connection !== null ? `${connection}: ` : '';
    return { finding, text: `${prefix}${first}`, below: [...more, ...remedyLines(finding)] };
  });
  return [...rendered(rows, width), '', summary(findings)];
}

/**
 * One screen about many connections: findings about all of them, then one line per check and state, with the first message
 * and remedy of each problem.
 */
export function doctorScreen(
  findings: readonly ConnectionFinding[],
  { width, height }: { readonly width: number; readonly height: number },
): string[] {
  const groups = new Map<string, ConnectionFinding[]>();
  for (const finding of findings) {
    const { connection, state, check } = finding;
    const key = connection === null ? `${groups.size}` : `${state} ${check}`;
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  const rows = [...groups.values()].map(rowOf);
  const end = ['', summary(findings), 'Details: --connection NAME, --failing, or --details for all.'];
  const all = [...rendered(rows, width), ...end];
  if (all.length < height) return all;
  const important = rows.filter(({ finding }) => finding.state !== 'ok');
  const lines = rendered(important, width);
  return [...lines.slice(0, Math.max(1, height - 1 - end.length)), ...end];
}

interface Row {
  readonly finding: ConnectionFinding;
  readonly text: string;
  readonly below: readonly string[];
}

function rowOf(group: readonly ConnectionFinding[]): Row {
  const [finding] = group as [ConnectionFinding, ...ConnectionFinding[]];
  const { connection, state, message } = finding;
  const [first = ''] = message.split('\n');
  if (connection === null) return { finding, text: first, below: remedyLines(finding) };
  const names = [...new Set(group.map((one) => one.connection))];
  const text = counted(names.length, 'connection');
  if (state === 'ok') return { finding, text, below: [] };
  const such = names.length === 1 ? first : `such as ${connection}: ${first}`;
  return { finding, text: names.length === 1 ? connection : text, below: [such, ...remedyLines(finding)] };
}

function remedyLines({ remedy }: ConnectionFinding): string[] {
  return remedy === null ? [] : remedy.split('\n');
}

/** A table of state, check and text. The text and what follows are wrapped, because causes must stay readable. */
function rendered(rows: readonly Row[], width: number): string[] {
  const cells = rows.map(({ finding: { state, check } }) => [state, check]);
  const heads = table(cells.map((row) => [...row, '|'])).map((line) => line.slice(0, -1));
  return rows.flatMap(({ finding: { state }, text, below }, i) => {
    const head = heads[i]!;
    const line = `${head}${printable(text)}`;
    // A text that does not fit next to its check starts on the line after it.
    const [first, more] =
      line.length <= width || width <= head.length ? [line, []] : [head.trimEnd(), wrapBelow(text, width)];
    return [paint(state, cut(first, width)), ...more, ...below.flatMap((one) => wrapBelow(one, width))];
  });
}

function wrapBelow(text: string, width: number): string[] {
  return wrap(`${BELOW}${printable(runnableHere(text)).trimEnd()}`, width);
}

function summary(findings: readonly ConnectionFinding[]): string {
  const problems = findings.filter(({ state }) => state === 'problem').length;
  const warnings = findings.filter(({ state }) => state === 'warning').length;
  if (problems + warnings === 0) return 'No problems found.';
  return `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`;
}

function paint(state: ConnectionFinding['state'], line: string): string {
  const { green, yellow, red } = colorsFor(process.stdout);
  const colour = { ok: green, warning: yellow, problem: red }[state];
  return colour(state) + line.slice(state.length);
}
