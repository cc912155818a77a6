import type { ErrorMapping, StatusPattern } from '../core/settings.js';
import type { RefusalScope } from './errors/refused-error.js';

export type StatusClass = 'success' | 'redirect' | 'refused' | 'transient' | 'not-found' | 'rejected';

/**
 * What a status means (DESIGN 3.12; the spec leaves the codes open). A status named in the mapping itself comes before
 * every other rule, a class such as `'5xx'` after the rule for 404, and `refused` before `transient`.
 */
export function classifyStatus(status: number, mapping: ErrorMapping): StatusClass {
  if (status >= 200 && status < 300) return 'success';
  if (mapping.refused.includes(status)) return 'refused';
  if (mapping.transient.includes(status)) return 'transient';
  if (status === 404) return 'not-found';
  const pattern = classOf(status);
  if (pattern !== null && mapping.refused.includes(pattern)) return 'refused';
  if (pattern !== null && mapping.transient.includes(pattern)) return 'transient';
  if (status >= 300 && status < 400) return 'redirect';
  // No HTTP status at all: something between us and the service made it up.
  if (status < 200 || status > 599) return 'transient';
  return 'rejected';
}

function classOf(status: number): StatusPattern | null {
  if (status >= 400 && status < 500) return '4xx';
  if (status >= 500 && status < 600) return '5xx';
  return null;
}

const PLAN = /\b(?:plans?|subscriptions?|subscribe|upgrad(?:e|es|ed|ing))\b/i;
const KEY = /\b(?:api[ _-]?keys?|keys?|tokens?|credentials?)\b/i;
const KEY_FAULT =
  /\b(?:invalid|unknown|missing|wrong|expired|revoked|malformed|incorrect|unrecogni[sz]ed|disabled|not (?:valid|found|recogni[sz]ed))\b/i;
const GRANT = /\b(?:grants?|permissions?|scopes?|privileges?)\b/i;

/**
 * Tells what is refused: 401 the key, 402 the plan; anything else by the wording of the message (spec,
 * "Authentication", 9). A doubt counts as a missing grant, which ends one resource and not the run.
 */
export function refusalScope(status: number, message: string | null): RefusalScope {
  if (status === 401) return 'key';
  if (status === 402) return 'plan';
  if (message === null) return 'grant';
  if (PLAN.test(message)) return 'plan';
  // "The key is missing the grant projects:read" is about the grant.
  if (KEY.test(message) && KEY_FAULT.test(message) && !GRANT.test(message)) return 'key';
  return 'grant';
}
