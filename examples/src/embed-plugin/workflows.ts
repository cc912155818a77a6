/** The application's bundle: its own workflows and ours. Versioned workers use `temporal-worktrack/workflows/versioned`. */
export * from 'temporal-worktrack/workflows';
export * from '../export-from-workflow/workflows.js';
export * from '../on-published/workflows.js';
