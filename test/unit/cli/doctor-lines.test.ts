import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { doctorLines } from '../../../src/cli/setup/doctor-command.js';
import { type ConnectionFinding, ok, problem } from '../../../src/doctor/index.js';

const found = (
  subject: string | undefined,
  message: string,
  check = 'grant' as const,
): ConnectionFinding => ({
  ...{ connection: 'acme', ...ok(check, message) },
  ...(subject === undefined ? {} : { subject }),
});

/** State and name of each line of a finding. */
const namesOf = (lines: readonly string[]): string[] =>
  lines.filter((line) => /^(ok|problem) /.test(line)).map((line) => line.split(/ {2,}/)[1]!);

describe('a line of doctor', () => {
  it('is named for its check and what was checked, which its text does not repeat', () => {
    const clock = { connection: 'acme', ...ok('clock', 'the clocks differ by less than 1 s') };
    const lines = doctorLines(
      [
        found('tasks', 'tasks: readable'),
        found('projects', 'projects: readable'),
        { ...clock, subject: 'service' },
        { ...clock, subject: 'lake' },
        {
          connection: 'acme',
          subject: 'copy',
          ...problem('lake', 'other', 'a copy differs', 'Use another.'),
        },
      ],
      80,
    );
    expect(lines.slice(0, 6)).toEqual([
      'ok       grant (tasks)     readable',
      'ok       grant (projects)  readable',
      'ok       clock (service)   the clocks differ by less than 1 s',
      'ok       clock (lake)      the clocks differ by less than 1 s',
      'problem  lake (copy)       a copy differs',
      '         Use another.',
    ]);
  });

  it('never has the name of another one, and no control character', () => {
    const subject = fc.option(fc.constantFrom('tasks', 'projects', 'a\nok lake', 'x'.repeat(50)), {
      nil: undefined,
    });
    const checks = fc.constantFrom('grant', 'lake', 'clock');
    fc.assert(
      fc.property(fc.array(fc.tuple(checks, subject), { maxLength: 20 }), (all) => {
        const lines = doctorLines(
          all.map(([check, of]) => found(of, 'fine', check as 'grant')),
          1000,
        );
        const names = namesOf(lines);
        expect(names).toHaveLength(all.length);
        expect(new Set(names).size).toBe(all.length);
        expect(lines.join('')).not.toContain('\n');
      }),
    );
  });
});
