import type { FaultRule } from '../../src/simulator/faults.js';

/** Rows and page size that the tables below are made for: six pages. */
export const FAULT_ROWS = 120;
export const FAULT_PAGE = 20;

const tasks = { resource: 'tasks' } as const;

/** Transient faults: with any of them, every record must be published once. */
export const PASSING: Readonly<Record<string, readonly FaultRule[]>> = {
  '429 with seconds': [
    { match: { ...tasks, nth: 3 }, fault: { kind: 'status', status: 429, retryAfter: 1 } },
  ],
  '429 with a date': [
    { match: { ...tasks, nth: 3 }, fault: { kind: 'status', status: 429, retryAfter: { inMs: 1500 } } },
  ],
  '429 without a time': [{ match: tasks, remaining: 3, fault: { kind: 'status', status: 429 } }],
  '503 with a time': [{ match: { ...tasks, nth: 2 }, fault: { kind: 'status', status: 503, retryAfter: 1 } }],
  'more 5xx than one request is repeated': [
    { match: { ...tasks, page: 2 }, remaining: 6, fault: { kind: 'status', status: 502 } },
  ],
  '408 and 425': [
    { match: { ...tasks, page: 1 }, remaining: 1, fault: { kind: 'status', status: 408 } },
    { match: { ...tasks, page: 2 }, remaining: 1, fault: { kind: 'status', status: 425 } },
  ],
  'resets before the answer': [{ match: { ...tasks, every: 3 }, remaining: 3, fault: { kind: 'reset' } }],
  'resets within the body': [
    { match: { ...tasks, every: 3 }, remaining: 3, fault: { kind: 'reset-mid-body' } },
  ],
  'torn JSON with a right length': [
    { match: { ...tasks, every: 2 }, remaining: 4, fault: { kind: 'truncated-json' } },
  ],
  'HTML with status 200': [{ match: { ...tasks, every: 2 }, remaining: 3, fault: { kind: 'html' } }],
  'empty pages in between': [
    { match: { ...tasks, page: 2 }, remaining: 2, fault: { kind: 'empty-page' } },
    { match: { ...tasks, page: 3 }, remaining: 1, fault: { kind: 'empty-page' } },
  ],
  'a cursor that expires twice': [
    { match: { ...tasks, page: 3 }, remaining: 2, fault: { kind: 'cursor-expired' } },
    { match: { ...tasks, page: 4 }, remaining: 2, fault: { kind: 'cursor-expired' } },
  ],
  'a slow drip': [
    { match: { ...tasks, page: 1 }, remaining: 1, fault: { kind: 'drip', bytes: 256, everyMs: 20 } },
  ],
  'a hang': [{ match: { ...tasks, page: 2 }, remaining: 1, fault: { kind: 'hang' } }],
  'damaged gzip': [{ match: { ...tasks, every: 2 }, remaining: 3, fault: { kind: 'bad-gzip' } }],
  'a redirect that goes away': [
    {
      match: { ...tasks, page: 1 },
      remaining: 2,
      fault: { kind: 'redirect', location: 'http://127.0.0.1:9/elsewhere' },
    },
  ],
};

/** A fault, and the failure that it must cause. */
export interface FatalFault {
  readonly rule: FaultRule;
  readonly type: 'BrokenPromise' | 'Transient' | 'Refused';
  /** The message must name the problem, the resource and the position. */
  readonly says: RegExp;
}

/** Permanent faults: the run fails with a message that names the problem and its position, and publishes nothing. */
export const FATAL: Readonly<Record<string, FatalFault>> = {
  'an envelope without data': {
    rule: { match: { ...tasks, page: 2 }, fault: { kind: 'wrong-envelope' } },
    type: 'BrokenPromise',
    says: /tasks: GET .*tasks\?.*cursor=.*the envelope has no "data"/,
  },
  'an envelope without page': {
    rule: { match: tasks, fault: { kind: 'wrong-envelope', body: '{"data":[]}' } },
    type: 'BrokenPromise',
    says: /tasks: GET .*the envelope has no "page"/,
  },
  'a bare array': {
    rule: { match: tasks, fault: { kind: 'wrong-envelope', body: '[]' } },
    type: 'BrokenPromise',
    says: /tasks: GET .*the body is not an object/,
  },
  'a record that is not an object': {
    rule: {
      match: { ...tasks, page: 1 },
      fault: { kind: 'wrong-envelope', body: '{"data":[{"id":"a"},7],"page":{"nextCursor":null}}' },
    },
    type: 'BrokenPromise',
    says: /tasks: record 1 of page 1 .*is not an object/,
  },
  'a record without its key': {
    rule: {
      match: { ...tasks, page: 1 },
      fault: {
        kind: 'wrong-envelope',
        body: '{"data":[{"id":"a"},{"name":"b"}],"page":{"nextCursor":null}}',
      },
    },
    type: 'BrokenPromise',
    says: /tasks: record 1 of page 1 .*"id"/,
  },
  'a cursor that names itself': {
    rule: { match: tasks, fault: { kind: 'cursor-loop', length: 1 } },
    type: 'BrokenPromise',
    says: /tasks: the service returned the same nextCursor twice/,
  },
  'two cursors that name each other': {
    rule: { match: tasks, fault: { kind: 'cursor-loop', length: 2 } },
    type: 'BrokenPromise',
    says: /tasks: the service returned the same nextCursor twice/,
  },
  'cursors that always expire': {
    rule: { match: { ...tasks, cursor: 'with' }, fault: { kind: 'status', status: 410 } },
    type: 'BrokenPromise',
    says: /tasks: .*no longer accepted its own cursor.*410/,
  },
  'a list that refuses every limit': {
    rule: { match: tasks, fault: { kind: 'status', status: 422, body: '{"message":"No such limit."}' } },
    type: 'BrokenPromise',
    says: /tasks: GET .*limit=1.*422.*No such limit/,
  },
  'a missing list': {
    rule: { match: tasks, fault: { kind: 'status', status: 404 } },
    type: 'BrokenPromise',
    says: /tasks: the service has no list at "tasks" \(404\)/,
  },
  'a refusal in the middle': {
    rule: { match: { ...tasks, page: 3 }, fault: { kind: 'status', status: 403 } },
    type: 'Refused',
    says: /tasks: GET .*cursor=.*403/,
  },
};

/** Faults that are retried until `retries.giveUpAfter` has passed. */
export const GIVEN_UP: Readonly<Record<string, FatalFault>> = {
  'HTML forever': {
    rule: { match: { ...tasks, cursor: 'with' }, fault: { kind: 'html' } },
    type: 'Transient',
    says: /tasks: GET .*cursor=.*a web page instead of JSON/,
  },
  'a redirect forever': {
    rule: {
      match: { ...tasks, cursor: 'with' },
      fault: { kind: 'redirect', location: 'https://elsewhere.example/login?token=t0ken' },
    },
    type: 'Transient',
    says: /tasks: GET .*a redirect to elsewhere\.example\. Only redirects of reads to the same origin/,
  },
  '429 forever': {
    rule: { match: { ...tasks, cursor: 'with' }, fault: { kind: 'status', status: 429, retryAfter: 1 } },
    type: 'Transient',
    says: /tasks: .*(429|requires this connection to wait)/,
  },
};
