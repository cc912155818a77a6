import type { RunFile } from '../../src/lake/run-file.js';
import type { Stage } from '../../src/lake/stage.js';
import type { windowGap } from '../../src/lake/watermark.js';

/** What an increment asked for; a full pass asks for all, whatever its catch-up reads asked for. */
export function askedFor(run: RunFile, stage: Stage): RunFile['updatedSince'] {
  return run.mode === 'increment' ? stage.updatedSince : run.updatedSince;
}

/** What the manifest of a published run warns of, as sentences for people. */
export function warningsOf(
  run: RunFile,
  stage: Stage,
  gap: ReturnType<typeof windowGap>,
  reapplied: number,
): string[] {
  const { resource } = run;
  const warnings: string[] = [];
  if (gap !== null) {
    warnings.push(
      `gap: the last run was so long ago that the service no longer lists what changed from ${gap.from} to ${gap.to} ` +
        `(window of ${resource.name})`,
    );
  }
  if (reapplied > 0) {
    warnings.push(
      `${count(reapplied, 'row')} that run ${run.before?.runId} lacks and the service no longer lists came back from the ` +
        'change logs of the runs that were rolled back',
    );
  }
  if (askedFor(run, stage) !== run.updatedSince) {
    warnings.push(
      `clock: the service's clock seems to have gone back since the run before; changes were read from ${stage.updatedSince} on ` +
        `and not from ${run.updatedSince}`,
    );
  }
  if (stage.quarantined > 0)
    warnings.push(`${count(stage.quarantined, 'record')} without a key set aside under _quarantine/`);
  if (stage.replaced > 0)
    warnings.push(`${count(stage.replaced, 'lone surrogate')}, which UTF-8 cannot carry, became U+FFFD`);
  return warnings;
}

/** The manifest keeps all warnings; a history and a mirror's state must stay small. */
const WARNINGS_TOLD = 20;

export function firstOf(warnings: readonly string[]): readonly string[] {
  const more = warnings.length - WARNINGS_TOLD;
  if (more <= 0) return warnings;
  return [...warnings.slice(0, WARNINGS_TOLD), `and ${more} more, in the manifest`];
}

function count(n: number, thing: string): string {
  return `${n} ${thing}${n === 1 ? '' : 's'}`;
}
