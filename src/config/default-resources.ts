/** The resources of the spec, mirrored where the file names none. */
export const DEFAULT_RESOURCES = ['projects', 'tasks', 'time-entries', 'calendar-entries'];
