import type { DeleteDetection } from './contract/index.js';

/**
 * What a user must know about the deletes of a resource, as one sentence without its resource and without a full stop; `null` if
 * they are detected without a limit, or deliberately not (docs/explanation/guarantees.md#deletes). It is a note, not a warning:
 * it describes the settings and the service. A command prints it when it changes, and `status` always.
 */
export function deletesNote({ basis, windowField, reason, notListed }: DeleteDetection): string | null {
  const field = windowField === null ? '' : `"${shortened(windowField)}"`;
  const rows =
    notListed === null || notListed === 0
      ? ''
      : `; ${notListed} ${notListed === 1 ? 'row is' : 'rows are'} no longer listed`;
  if (basis === 'none') {
    const why = {
      kept: null,
      'no-window-field':
        'the list has a window and no `windowField` is set; `worktrack doctor --try-service` looks for it',
      'no-dates': `no row has a value in \`windowField\` ${field}`,
      'not-dates': `\`windowField\` ${field} has a value that is neither ISO 8601 nor an epoch number`,
      // With a basis, the detection has only a limit.
      'no-id': null,
      endpoint: 'GET by id does not find records that exist; correct or remove `fetchById`',
    }[reason ?? 'kept'];
    return why === null ? null : `deletes are not detected, because ${why}${rows}`;
  }
  if (basis === 'by-id' || windowField === null) return null;
  const moved = `deletes are concluded from the date in ${field}, so a record that was moved out of the window looks deleted`;
  if (reason === 'no-id') return moved;
  return `${moved}; \`fetchById: true\` tells them apart, if the service has GET by id`;
}

/** Whether two runs knew the same about deletes, apart from the number of rows, which changes every night. */
export function isSameDetection(before: DeleteDetection | null | undefined, now: DeleteDetection): boolean {
  return (['basis', 'windowField', 'reason'] as const).every((field) => before?.[field] === now[field]);
}

/** What a delete is concluded from, in a few words for a list. */
export function basisText({ basis, windowField }: DeleteDetection): string {
  if (basis === 'none') return 'not detected';
  if (basis === 'by-id') return 'by id';
  return windowField === null ? 'by two readings' : `by the date in "${shortened(windowField)}"`;
}

/** A name is configured, so it can have any length. */
function shortened(name: string): string {
  return name.length > 60 ? `${name.slice(0, 60)}…` : name;
}
