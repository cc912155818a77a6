import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { seededRandom } from '../../support/random.js';
import { SEED } from '../../support/seeds.js';

const NIGHTS = Number(process.env.WORKTRACK_NIGHTS ?? 8);
const DAY = 86_400_000;
/** A Friday. */
const START = Date.parse('2026-11-20T02:00:00Z');
/** Days without work, next to Saturdays and Sundays, from the start. */
const HOLIDAYS = new Set([10, 35, 36, 42]);

/** The checks that the documentation shows. */
function documentedChecks(): unknown {
  const page = readFileSync(
    fileURLToPath(new URL('../../../docs/how-to/checks.md', import.meta.url)),
    'utf8',
  );
  const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  const connection = parse(yaml) as { resources: [{ checks: unknown }] };
  return connection.resources[0].checks;
}

describe(`the checks of the documentation (seed ${SEED})`, () => {
  it.each([
    ['a large resource', 1500, 12],
    ['a resource that grows by half in its first two weeks', 1000, 50],
  ])(
    `stop and warn of nothing in ${NIGHTS} nightly runs with weekends and holidays: %s`,
    async (_, first, perDay) => {
      const random = seededRandom(SEED);
      const checks = JSON.stringify(documentedChecks());
      const mirror = await InProcessMirror.start({
        simulator: { counts: { tasks: 0 }, now: START, pageMax: 1000 },
        resource: 'tasks',
        yaml: `{ name: tasks, checks: ${checks} }`,
        connection: '    sync: { overlap: 1s }',
      });
      try {
        expect(stringify(JSON.parse(checks))).toContain('newest');
        const { admin } = mirror.simulator;
        const ids: string[] = [];
        let now = START;
        let next = 0;
        const work = (count: number): void => {
          for (let n = 0; n < count; n++) {
            const at = new Date(now - random.below(8 * 3_600_000) - 8 * 3_600_000).toISOString();
            ids.push(
              admin.create('tasks', {
                ...{ projectId: `p${n % 9}`, start: at, externalRef: `ref-${next++}`, updatedAt: at },
                ...{ status: random.pick(['open', 'closed']), durationSeconds: random.below(86_401) },
              }),
            );
          }
        };
        work(first);
        mirror.clock = now;
        await mirror.run();
        for (let night = 1; night <= NIGHTS; night++) {
          now += DAY;
          admin.setNow(now - 1000);
          const yesterday = new Date(now - DAY).getUTCDay();
          if (yesterday !== 0 && yesterday !== 6 && !HOLIDAYS.has(night)) {
            work(1 + random.below(2 * perDay));
            for (let n = random.below(20); n > 0; n--)
              admin.update('tasks', random.pick(ids), { status: random.pick(['open', 'closed']) });
          }
          admin.setNow(now);
          mirror.clock = now;
          const { warnings } = await mirror.run();
          const outcomes = (await mirror.current()).manifest.checks!.map(({ name, outcome }) => [
            name,
            outcome,
          ]);
          expect(warnings).toEqual([]);
          const usual = night <= 2 ? ['passed', 'skipped'] : ['passed'];
          expect(outcomes.filter(([, outcome]) => !usual.includes(outcome!))).toEqual([]);
        }
      } finally {
        await mirror.close();
      }
    },
  );
});
