import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** Ends a run with what repeats each failure, and with what the processes of the failed test have said last. */
export default class FailureReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      const failed = [...module.children.allTests('failed')];
      for (const test of failed) print(module, test);
      // A hook or an import of the file has failed.
      if (module.state() === 'failed' && failed.length === 0) print(module);
    }
  }
}

function print(module: TestModule, test?: TestCase): void {
  console.log(`\nFAILED ${relative('.', module.moduleId)}${test === undefined ? '' : ` > ${test.fullName}`}`);
  console.log(`To repeat: ${commandOf(module, test?.name)}`);
  const logs = test?.meta().logs ?? '';
  if (logs !== '') console.log(logs);
}

/** The command that runs a test again, with its seed. @param name without the names of what is around it; absent: the file */
export function commandOf(module: Pick<TestModule, 'moduleId' | 'project'>, name?: string): string {
  const seed =
    /\bseed (\d+)/.exec(name ?? '')?.[1] ?? process.env.WORKTRACK_SEED ?? process.env.WORKTRACK_FRESH_SEED;
  const command = `npx vitest run --project ${module.project.name} ${relative('.', module.moduleId)}`;
  // What follows a seed is not there if the seed is another one.
  const pattern = name
    ?.replaceAll(/seed \d+.*/g, 'seed')
    .replaceAll(/[\\^$.*+?()[\]{}|]/g, '.')
    .replaceAll("'", '.');
  return `WORKTRACK_SEED=${seed} ${command}${pattern === undefined ? '' : ` -t '${pattern}'`}`;
}
