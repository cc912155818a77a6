export {
  type ConfigDifference,
  type ConfigDigest,
  configDifference,
  configDigest,
  configFingerprint,
} from '../core/fingerprint.js';
export { configJsonSchema } from '../core/schema/config-schema.js';
export { isLoopbackAddress } from '../core/schema/readers.js';
export { readListen } from '../core/schema/schema-webhook.js';
export { addToConfig, getInConfig, setInConfig } from './edit.js';
export { findConfig, type LoadOptions, loadSettings, parseSettings } from './load.js';
export { SettingsError, type SettingsProblem } from './problems.js';
export { selectConnection, selectResources } from './select.js';
export { STARTER_DEFAULTS, type StarterAnswers, settingsToPaste, starterConfig } from './yaml-to-write.js';
