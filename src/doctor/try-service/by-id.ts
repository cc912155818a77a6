import { hasId } from '../../lake/rows/profile.js';
import type { ResourceProbe } from './probe.js';

/**
 * What GET by id can prove. `works`: it finds a listed record, and not one that cannot exist; `none`: it does not find a listed
 * record; `accepts-all`: it answers with success for a record that cannot exist; `refused`: the key may not use it; `untested`: the
 * list is empty, the key has several fields, or the service did not answer.
 */
export type ById = 'works' | 'none' | 'accepts-all' | 'refused' | 'untested';

/** Requests up to three listed records, because each may just have been deleted, and one that cannot exist. */
export async function tryById(probe: ResourceProbe): Promise<ById> {
  if (!hasId(probe.resource)) return 'untested';
  const page = await probe.page({ limit: 3 });
  if (page.kind !== 'page') return 'untested';
  const ids = page.rows.flatMap((row) => row.get(probe.resource.key[0]!) ?? []).slice(0, 3);
  let answer: ById = 'untested';
  for (const id of ids) {
    const found = await probe.record(id);
    if (found === 'found') return afterFound(probe, id, new Set(ids));
    answer = found === 'gone' || found === 'other' ? 'none' : found === 'refused' ? 'refused' : answer;
  }
  return answer;
}

/** The form of the id stays, so that the service does not reject it. */
async function afterFound(probe: ResourceProbe, id: string, known: ReadonlySet<string>): Promise<ById> {
  const other = id.replace(/[0-9A-Za-z]/g, (one) =>
    one >= '0' && one <= '9' ? '9' : one === one.toLowerCase() ? 'z' : 'Z',
  );
  const absent = known.has(other) ? `${other}9` : other;
  const answer = await probe.record(absent);
  return answer === 'found' || answer === 'other' ? 'accepts-all' : 'works';
}
