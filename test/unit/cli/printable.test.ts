import { afterEach, describe, expect, it, vi } from 'vitest';
import { exportProgressOn } from '../../../src/cli/progress/progress-views.js';
import { jsonLine, textLine } from '../../../src/cli/shared/log-line.js';
import { output, printable, printableJson, printJson } from '../../../src/cli/shared/output.js';
import type { ResourceView } from '../../../src/temporal/follow/follow-export.js';

const CONTROL = /(?![\n\t])\p{Cc}/u;
/** Sets the window title, clears the screen, and moves the cursor with the one-byte CSI. */
const EVIL = '\x1b]0;owned\x07\x1b[2J\u009b2A\r\x00\x7f';
const SHOWN = '\\x1b]0;owned\\x07\\x1b[2J\\x9b2A\\x0d\\x00\\x7f';

describe('text for a terminal', () => {
  it('shows control characters in escaped form', () => {
    expect(printable(`new column "${EVIL}"`)).toBe(`new column "${SHOWN}"`);
  });

  it('escapes every control character except line feed and tab, and nothing else', () => {
    for (let code = 0; code < 0x3000; code++) {
      const text = String.fromCharCode(code);
      const isControl = code < 0x20 || (code >= 0x7f && code <= 0x9f);
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
        report: null,
      },
      failure: { attempt: 2, retry: 'waiting', message: `answered 500: ${EVIL}` },
    };
    const screen = { isTTY: false, write: (text: string) => written.push(text) };
    exportProgressOn(screen).show({ workflowId: 'w', taskQueue: 'q', worker: 'present', resources: [view] });
    expect(written.join('')).toContain('answered 500: \\x1b]0;owned');
    expect(written.join('')).not.toMatch(CONTROL);
  });

  it('has none in what a worker logs, in both formats', () => {
    const entry = { timestampNanos: 0n, level: 'WARN', message: EVIL, meta: { error: EVIL } } as const;
    for (const line of [textLine(entry), jsonLine(entry)]) expect(line).not.toMatch(CONTROL);
    expect(JSON.parse(jsonLine(entry))).toMatchObject({ message: EVIL, error: EVIL });
  });
});
