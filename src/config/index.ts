export {
  type ConfigDifference,
  type ConfigDigest,
  configDifference,
  configDigest,
  configFingerprint,
} from './fingerprint.js';
export { type LoadOptions, loadSettings } from './load.js';
export { parseSettings } from './parse.js';
export { settingsToPaste } from './paste.js';
export type { SettingsProblem } from './problems.js';
export { configJsonSchema } from './schema.js';
export { readListen } from './schema-webhook.js';
export { selectConnection, selectResources } from './select.js';
export { SettingsError } from './settings-error.js';
export { STARTER_DEFAULTS, type StarterAnswers, starterConfig } from './starter.js';
export { isLoopbackAddress } from './urls.js';
