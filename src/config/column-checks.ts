import type { PathPart, RawProblem } from './problems.js';
import { withNameDefaults } from './resource-defaults.js';
import type { ParsedResource } from './schema-resource.js';

/**
 * Checks a resource's `columns` for contradictions. The key identifies records, and `updatedAt` and `windowField` are
 * compared with the snapshot, so these fields must be mirrored and readable.
 */
export function columnConflicts(resource: ParsedResource, path: readonly PathPart[]): RawProblem[] {
  const { include, exclude = [], mask = {} } = resource.columns ?? {};
  const problems: RawProblem[] = [];
  const add = (list: string, message: string) => problems.push({ path: [...path, 'columns', list], message });

  for (const field of withNameDefaults(resource).key) {
    if (exclude.includes(field))
      add('exclude', `found ${quote(field)}, which is part of the key; the key cannot be excluded`);
    if (Object.hasOwn(mask, field) && mask[field] === 'redact') {
      add(
        'mask',
        `found ${quote(field)}: redact, which would make all keys equal; allowed for a key field: hash`,
      );
    }
  }
  for (const option of ['updatedAt', 'windowField'] as const) {
    const field = resource[option];
    if (field === undefined) continue;
    const needed = `the ${option} field, which later runs need`;
    if (exclude.includes(field)) add('exclude', `found ${quote(field)}, ${needed}; it cannot be excluded`);
    if (include && !include.includes(field)) add('include', `${quote(field)} is missing: it is ${needed}`);
    if (Object.hasOwn(mask, field)) add('mask', `found ${quote(field)}, ${needed}; it cannot be masked`);
  }
  for (const field of exclude) {
    if (include?.includes(field))
      add('exclude', `found ${quote(field)} in both include and exclude; allowed: only one of them`);
  }
  return [...problems, ...checkConflicts(resource, path)];
}

/** Checks see what is published, so their fields must be mirrored, and most need values that are not masked. */
function checkConflicts(resource: ParsedResource, path: readonly PathPart[]): RawProblem[] {
  const { include, exclude = [], mask = {} } = resource.columns ?? {};
  const key = withNameDefaults(resource).key;
  return (resource.checks ?? []).flatMap((check): RawProblem[] => {
    if (!('field' in check)) return [];
    const { field, kind } = check;
    const add = (message: string) => [
      { path: [...path, 'checks'], message: `found ${kind} of ${quote(field)}, ${message}` },
    ];
    // A flattened object is included by its own name.
    const isIncluded =
      !include || key.includes(field) || include.some((one) => field === one || field.startsWith(one));
    if (exclude.includes(field))
      return add('which columns.exclude leaves out; allowed: fields that are mirrored');
    if (!isIncluded)
      return add(`which columns.include leaves out; allowed: ${[...key, ...include].map(quote).join(', ')}`);
    if (!Object.hasOwn(mask, field) || kind === 'notNull') return [];
    if (kind === 'unique')
      return mask[field] === 'hash'
        ? []
        : add('which columns.mask makes equal (redact); allowed: hash, or no mask');
    return add(
      'which columns.mask replaces, so its values cannot be checked; allowed: fields without a mask',
    );
  });
}

function quote(field: string): string {
  return JSON.stringify(field);
}
