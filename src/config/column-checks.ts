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
  return problems;
}

function quote(field: string): string {
  return JSON.stringify(field);
}
