/** A list resource of the service. */
export interface ResourceDefinition {
  /** Its name in paths, such as `time-entries`. */
  readonly name: string;
  /** The date field of the window. Without one, all records are listed. */
  readonly windowField?: string;
  /** Number of seeded rows; the option `counts` overrides it. */
  readonly count?: number;
}

/** The resources in the API, and three examples of its "and so on". */
export const BUILT_IN_RESOURCES: readonly ResourceDefinition[] = [
  { name: 'projects', count: 12 },
  { name: 'tasks', count: 60 },
  { name: 'time-entries', count: 500, windowField: 'startedAt' },
  { name: 'calendar-entries', count: 80, windowField: 'startsAt' },
  { name: 'members', count: 8 },
  { name: 'clients', count: 5 },
  { name: 'tags', count: 10 },
];
