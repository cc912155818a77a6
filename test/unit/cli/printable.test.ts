import { afterEach, describe, expect, it, vi } from 'vitest';
import { TransientError } from '../../../src/api/index.js';
import { exportProgressOn } from '../../../src/cli/progress/progress-views.js';
import { doctorLines, doctorScreen } from '../../../src/cli/setup/doctor-command.js';
import { failureOf } from '../../../src/cli/shared/choose-exit-code.js';
import { jsonLine, textLine } from '../../../src/cli/shared/log-line.js';
import { output, printable, printableJson, printJson } from '../../../src/cli/shared/output.js';
import { forOutput } from '../../../src/cli/sql/ddl-csv.js';
import { ok, problem } from '../../../src/doctor/finding.js';
import type { ResourceView } from '../../../src/temporal/follow/follow-export.js';

const CONTROL = /(?![\n\t])\p{Cc}/u;
/** Sets the window title, clears the screen, and moves the cursor with the one-byte CSI. */
const EVIL = '\x1b]0;owned\x07\x1b[2J\u009b2A\r\x00\x7f';
const SHOWN = '\\x1b]0;owned\\x07\\x1b[2J\\x9b2A\\x0d\\x00\\x7f';

/** Separators of lines, and controls of the direction of text (Unicode 16, PropList.txt: Bidi_Control). */
const TEXT_CONTROLS = new Set([
  ...[0x2028, 0x2029, 0x61c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e],
  ...[0x2066, 0x2067, 0x2068, 0x2069],
]);

/** A name that pretends to be another line of the output, and one that turns the text around. */
const FORGED = 'hours"\nok  all rows are correct\n\u202egnp.exe\u2066\u2028x';

describe('text for a terminal', () => {
  it('shows control characters in escaped form', () => {
    expect(printable(`new column "${EVIL}"`)).toBe(`new column "${SHOWN}"`);
  });

  it('escapes every control character except line feed and tab, and nothing else', () => {
    for (let code = 0; code < 0x3000; code++) {
      const text = String.fromCharCode(code);
      const isControl = code < 0x20 || (code >= 0x7f && code <= 0x9f) || TEXT_CONTROLS.has(code);
      expect(printable(text) === text, `U+${code.toString(16)}`).toBe(
        !isControl || text === '\n' || text === '\t',
      );
    }
    expect(printable('naïve 日本 🎉\n\tx')).toBe('naïve 日本 🎉\n\tx');
  });

  it('still parses to the same JSON value', () => {
    const value = { [EVIL]: [EVIL, '\n\t'] };
    const json = printableJson(JSON.stringify(value, null, 2));
    expect(json).not.toMatch(CONTROL);
    expect(JSON.parse(json)).toEqual(value);
  });
});

describe('the output of a command', () => {
  afterEach(() => vi.restoreAllMocks());

  it('has no control character in its result, its notes and its JSON', () => {
    const written: string[] = [];
    const take = (text: unknown) => {
      written.push(String(text));
      return true;
    };
    vi.spyOn(process.stdout, 'write').mockImplementation(take);
    vi.spyOn(process.stderr, 'write').mockImplementation(take);
    output.out(EVIL);
    output.note(EVIL);
    printJson({ EVIL });
    vi.restoreAllMocks();
    expect(written.slice(0, 2)).toEqual([`${SHOWN}\n`, `${SHOWN}\n`]);
    expect(written.join('')).not.toMatch(CONTROL);
  });

  it('has no line that a name or a message from outside has written', () => {
    const written: string[] = [];
    const take = (text: unknown) => {
      written.push(String(text));
      return true;
    };
    vi.spyOn(process.stdout, 'write').mockImplementation(take);
    vi.spyOn(process.stderr, 'write').mockImplementation(take);
    output.out(`tasks  ${FORGED}`);
    output.styled(printable(`tasks  ${FORGED}`));
    output.note(`warning: new column "${FORGED}"`);
    output.paragraph(
      failureOf(new TransientError(`the service says: ${FORGED}`, { reason: 'body' }), {}).message,
    );
    output.paragraph(failureOf(new Error(FORGED), { WORKTRACK_DEBUG: '' }).message.split('\n')[0]!);
    vi.restoreAllMocks();
    expect(written.map((text) => text.trimEnd().split('\n').length)).toEqual([1, 1, 1, 1, 1]);
    expect(written.join('')).not.toMatch(/[\p{Bidi_Control}\u2028]/u);
    const [first, ...more] = textLine({
      ...{ timestampNanos: 0n, level: 'WARN', message: FORGED, meta: { error: new Error(FORGED) } },
    }).split('\n');
    expect(first).toContain('WARN');
    expect(more.every((line) => line.startsWith('  '))).toBe(true);
  });

  it('has none in its progress', () => {
    const written: string[] = [];
    const view: ResourceView = {
      ...{
        startedAt: null,
        resource: 'tasks',
        stage: 'read',
        pages: 1,
        rows: 2,
        runId: null,
        waitingUntil: null,
        isStoreLimited: false,
        unpause: null,
        report: null,
      },
      failure: { attempt: 2, retry: 'waiting', message: `answered 500: ${EVIL}` },
    };
    const screen = { isTTY: false, write: (text: string) => written.push(text) };
    exportProgressOn(screen).show({ workflowId: 'w', worker: 'present', resources: [view] });
    expect(written.join('')).toContain('answered 500: \\x1b]0;owned');
    expect(written.join('')).not.toMatch(CONTROL);
  });

  it('has none in what a worker logs, in both formats', () => {
    const entry = { timestampNanos: 0n, level: 'WARN', message: EVIL, meta: { error: EVIL } } as const;
    for (const line of [textLine(entry), jsonLine(entry)]) expect(line).not.toMatch(CONTROL);
    expect(JSON.parse(jsonLine(entry))).toMatchObject({ message: EVIL, error: EVIL });
  });
});

describe('names and words from outside', () => {
  const findings = [
    { connection: 'acme', ...ok('lake', FORGED) },
    { connection: 'acme', ...problem('service', 'other', FORGED, FORGED) },
  ];
  const starts = (lines: readonly string[]) => lines.filter((line) => /^\s*ok {2}all/.test(line));

  it('begin no line of doctor, in full and on one screen', () => {
    const full = doctorLines(findings, 1000);
    const screen = doctorScreen(findings, { width: 1000, height: 100 });
    expect([...starts(full), ...starts(screen)]).toEqual([]);
    // Two findings, one remedy, and the summary after an empty line.
    expect(full).toHaveLength(5);
    for (const line of [...full, ...screen]) expect(line).not.toMatch(/[\n\p{Bidi_Control}\u2028]/u);
  });

  it('leave the errors of a configuration on lines of their own', () => {
    const two = problem('configuration', 'configuration', 'two errors:\n  one\n  two', 'Correct them.');
    expect(
      doctorLines([{ connection: null, ...two }], 1000)
        .slice(0, 4)
        .map((line) => line.trim()),
    ).toEqual([expect.stringContaining('two errors:'), 'one', 'two', 'Correct them.']);
  });

  it.each([
    [true, 'hours"\\nok'],
    [undefined, 'hours"\nok'],
  ])('begin no line of a statement on a terminal (%s), and are unchanged elsewhere', (isTTY, shown) => {
    const { stdout } = process;
    const before = stdout.isTTY;
    Object.assign(stdout, { isTTY });
    const { columns } = forOutput({ columns: [{ name: 'hours"\nok', types: 1 }] });
    Object.assign(stdout, { isTTY: before });
    expect(columns).toEqual([{ name: shown, types: 1 }]);
  });
});
