import type { PathPart, RawProblem } from './problems.js';
import { withNameDefaults } from './resource-defaults.js';
import type { ParsedResource } from './schema-resource.js';

/**
 * Contradictions within a resource's `columns`. The key decides which rows are one record, and `updatedAt` and
 * `windowField` are compared with what the snapshot holds, so none of them may be left out or made unreadable.
 */
export function columnConflicts(resource: ParsedResource, path: readonly PathPart[]): RawProblem[] {
  const { include, exclude = [], mask = {} } = resource.columns ?? {};
  const problems: RawProblem[] = [];
  const add = (list: string, message: string) => problems.push({ path: [...path, 'columns', list], message });

  for (const field of withNameDefaults(resource).key) {
    if (exclude.includes(field))
      add('exclude', `found ${quote(field)}, which is part of the key; the key always stays`);
    if (Object.hasOwn(mask, field) && mask[field] === 'redact') {
      add(
        'mask',
        `found ${quote(field)}: redact, which would make all keys equal; allowed for a field of the key: hash`,
      );
    }
  }
  for (const option of ['updatedAt', 'windowField'] as const) {
    const field = resource[option];
    if (field === undefined) continue;
    const needed = `which ${option} names and later runs compare`;
    if (exclude.includes(field)) add('exclude', `found ${quote(field)}, ${needed}; it must stay`);
    if (include && !include.includes(field)) add('include', `lacks ${quote(field)}, ${needed}; it must stay`);
    if (Object.hasOwn(mask, field)) add('mask', `found ${quote(field)}, ${needed}; it must stay readable`);
  }
  for (const field of exclude) {
    if (include?.includes(field))
      add('exclude', `found ${quote(field)}, which include names too; allowed: one of them`);
  }
  return problems;
}

function quote(field: string): string {
  return JSON.stringify(field);
}
