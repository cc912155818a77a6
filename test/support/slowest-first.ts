import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take long while others run, most of the time waiting, the longest first. A file that is missing here only starts later. */
const SLOW: readonly string[] = [
  'write-back/overlaps',
  'temporal/package',
  'commands/docs',
  'commands/dbt',
  'temporal/codec',
  'temporal/connection-deaths',
  'commands/engines',
  'triggers/notices',
  'faults/late-requests',
  'mirror/whole-runs',
  'faults/lesser-stores',
  'write-back/two-builds',
  'write-back/history',
  'faults/secrets',
  'faults/odd-services',
  'faults/store-refusals',
  'write-back/earlier-rows',
  'mirror/damaged-tables',
  'temporal/schedule-gaps',
  'write-back/write-back',
  'faults/s3-policy',
  'commands/traces-command',
  'mirror/random',
  'commands/tutorial',
  'commands/bench',
  'temporal/server-limits',
];

/** Starts slow files first, so that no core is idle at the end of a run. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const rank = SLOW.findIndex((name) => moduleId.endsWith(`/test/integration/${name}.test.ts`));
      return rank === -1 ? SLOW.length : rank;
    };
    return (await super.sort(files)).sort((a, b) => rankOf(a) - rankOf(b));
  }
}
