/**
 * The messages between workflows, activities and clients. They are written to histories, so they are small: they hold
 * names, counts, cursors and object keys, and never a record (docs/explanation/how-it-works.md#components). Pure: the
 * workflow sandbox imports these files.
 */
export type * from './activities.js';
export type * from './alerts.js';
export type * from './mirror-state.js';
export * from './run-reports.js';
export * from './workflow-ids.js';
