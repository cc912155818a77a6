export { parseBytes } from '../core/bytes.js';
export { formatDuration, parseDuration } from '../core/duration.js';
export { configJsonSchema } from './json-schema.js';
export { CONFIG_FILES, type LoadOptions, loadSettings } from './load.js';
export { MINIMAL_CONFIG } from './minimal.js';
export { parseSettings } from './parse.js';
export type { SettingsProblem } from './problems.js';
export { selectConnection, selectResources } from './select.js';
export { SettingsError } from './settings-error.js';
