import type { ErrorMapping, StatusPattern } from '../core/settings.js';
import type { RefusalScope } from './errors/refused-error.js';

type StatusClass = 'success' | 'redirect' | 'refused' | 'transient' | 'not-found' | 'rejected';

/**
 * Classifies a status (docs/explanation/semantics.md#errors; the spec leaves the codes open). Order of precedence: a
 * single status in the mapping, the rule for 404, a class in the mapping such as `'5xx'`, the defaults. At each level
 * `refused` comes before `transient`.
 */
export function classifyStatus(status: number, mapping: ErrorMapping): StatusClass {
  if (isSuccess(status)) return 'success';
  if (mapping.refused.includes(status)) return 'refused';
  if (mapping.transient.includes(status)) return 'transient';
  if (status === 404) return 'not-found';
  const pattern = statusClassPattern(status);
  if (pattern !== null && mapping.refused.includes(pattern)) return 'refused';
  if (pattern !== null && mapping.transient.includes(pattern)) return 'transient';
  if (status >= 300 && status < 400) return 'redirect';
  // Not an HTTP status: it comes from a proxy and not from the service.
  if (status < 200 || status > 599) return 'transient';
  return 'rejected';
}

/** Whether a status is a 2xx. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

function statusClassPattern(status: number): StatusPattern | null {
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
 * Determines what is refused: 401 the key, 402 the plan, any other status by the wording of the message (spec,
 * "Authentication", 9). An unclear message counts as a missing grant, which ends one resource and not the run.
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
