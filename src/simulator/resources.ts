/** A list resource of the service. */
export interface ResourceDefinition {
  /** Its name in paths, such as `time-entries`. */
  readonly name: string;
  /** The date field that its window looks at; a resource without one is listed whole. */
  readonly windowField?: string;
  /** Seeded rows; `counts` of the options wins. */
  readonly count?: number;
}

/** The resources of the spec, and three that stand for its "and so on". */
export const BUILT_IN_RESOURCES: readonly ResourceDefinition[] = [
  { name: 'projects', count: 12 },
  { name: 'tasks', count: 60 },
  { name: 'time-entries', count: 500, windowField: 'startedAt' },
  { name: 'calendar-entries', count: 80, windowField: 'startsAt' },
  { name: 'members', count: 8 },
  { name: 'clients', count: 5 },
  { name: 'tags', count: 10 },
];
