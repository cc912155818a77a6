/**
 * What workflows, activities and clients say to one another. Everything here is small: it is written to histories,
 * so it holds names, counts, cursors and object keys, and never a record (DESIGN 2). Pure: the workflow
 * sandbox imports these files.
 */
export type { Activities } from './contract/activities.js';
export type * from './contract/mirror.js';
export * from './contract/names.js';
export type * from './contract/notices.js';
export type * from './contract/runs.js';
export type * from './contract/steps.js';
