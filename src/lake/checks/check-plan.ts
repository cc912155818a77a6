import { hash } from 'node:crypto';
import type { CheckRule, CheckScope, CheckSettings, ResourceSettings } from '../../core/settings.js';
import type { Figures } from '../documents/check-record.js';
import { type Profile, profileFingerprint } from '../rows/profile.js';

/** One figure that is measured over rows: a count, or the newest time. Checks with the same measure share it. */
export interface Measure {
  /** Hash of the definition and of what shapes the cells: a figure is known only as long as both stay the same. */
  readonly id: string;
  readonly rule: MeasureRule;
}

/** `live`: rows that are not deleted. `newest`: the newest time. */
export type MeasureRule =
  | { readonly kind: 'live' }
  | { readonly kind: 'newest'; readonly field: string }
  | CountRule;

/** Counts the values that break a check. `undated`: values that are no date. */
export type CountRule =
  | { readonly kind: 'nulls' | 'undated'; readonly field: string }
  | { readonly kind: 'others'; readonly field: string; readonly values: readonly (string | number)[] }
  | {
      readonly kind: 'outside';
      readonly field: string;
      readonly min: string | null;
      readonly max: string | null;
    };

/** A field whose values are compared with each other. */
export interface UniqueMeasure {
  readonly id: string;
  readonly field: string;
  readonly scope: CheckScope;
}

/** What the checks of a resource need to know about rows. */
export interface CheckPlan {
  /** Fingerprint of what shapes the cells. */
  readonly fingerprint: string;
  readonly measures: Readonly<Record<CheckScope, readonly Measure[]>>;
  readonly uniques: readonly UniqueMeasure[];
}

/** What has to be measured for the checks of a resource; `null` if it has none. */
export function planChecks(resource: Pick<ResourceSettings, 'checks'> & Profile): CheckPlan | null {
  const { checks } = resource;
  if (checks.length === 0) return null;
  const plan = { fingerprint: profileFingerprint(resource) };
  const of = (scope: CheckScope): Measure[] => {
    const inScope = checks.filter((one) => one.of === scope);
    if (scope === 'run' && inScope.length === 0) return [];
    // The number of rows is part of every message, and of what `change` compares.
    const rules = [LIVE, ...inScope.flatMap(rulesOf)];
    const found = new Map(rules.map((rule) => [measureId(plan, rule), rule]));
    return [...found].map(([id, rule]) => ({ id, rule }));
  };
  return {
    ...plan,
    measures: { snapshot: of('snapshot'), run: of('run') },
    uniques: checks.flatMap((check) => {
      if (check.kind !== 'unique') return [];
      const unique = { field: check.field, scope: check.of };
      return [{ id: uniqueId(plan, unique), ...unique }];
    }),
  };
}

type Fingerprinted = Pick<CheckPlan, 'fingerprint'>;

/** The id of a measure, to find its figure. */
export function measureId({ fingerprint }: Fingerprinted, rule: object): string {
  return hash('sha256', JSON.stringify([rule, fingerprint])).slice(0, 12);
}

/** The id of a field whose values are compared. */
export function uniqueId(plan: Fingerprinted, { field, scope }: Omit<UniqueMeasure, 'id'>): string {
  return measureId(plan, { kind: 'unique', field, scope });
}

/** The number of rows that are not deleted. */
export const LIVE: MeasureRule = { kind: 'live' };

/** What a check measures. */
export function rulesOf(check: CheckRule): MeasureRule[] {
  switch (check.kind) {
    case 'notNull':
      return [{ kind: 'nulls', field: check.field }];
    case 'oneOf':
      return [{ kind: 'others', field: check.field, values: check.values }];
    case 'range':
      return [{ kind: 'outside', field: check.field, min: check.min, max: check.max }];
    case 'newest':
      return [
        { kind: 'newest', field: check.field },
        { kind: 'undated', field: check.field },
      ];
    default:
      return [];
  }
}

/** Adds figures of other rows. */
export function addFigures(measures: readonly Measure[], parts: readonly Figures[]): Figures {
  return Object.fromEntries(
    measures.map(({ id, rule }) => {
      const found = parts.map((figures) => figures[id] ?? null);
      if (rule.kind !== 'newest') return [id, found.reduce<number>((sum, one) => sum + (one ?? 0), 0)];
      return [id, found.reduce<number | null>((newest, one) => later(newest, one), null)];
    }),
  );
}

/** Those of the figures that the measures need; `null` if one is missing. */
export function knownFigures(measures: readonly Measure[], figures: Figures | undefined): Figures | null {
  if (figures === undefined || measures.some(({ id }) => figures[id] === undefined)) return null;
  return Object.fromEntries(measures.map(({ id }) => [id, figures[id]!]));
}

/** The later of two times; `null`: no time. */
export function later(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.max(a, b);
}

/** Names of the checks in manifests and messages, such as `notNull(title)`. */
export function checkNames(checks: readonly CheckSettings[]): string[] {
  const plain = checks.map((check) => ('field' in check ? `${check.kind}(${check.field})` : check.kind));
  return plain.map((name, at) => {
    const hasTwin = plain.indexOf(name) !== plain.lastIndexOf(name);
    return hasTwin && checks[at]!.of === 'run' ? `${name} of run` : name;
  });
}
