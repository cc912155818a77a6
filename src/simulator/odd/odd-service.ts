import type { Fault } from '../faults/fault-types.js';
import type { Call } from '../http/call.js';
import type { Reply } from '../http/reply.js';
import type { Service } from '../service.js';

/** What an odd service does differently. All of it is optional, and several odd services can be combined. */
export interface OddBehaviour {
  /** Runs when the simulator starts: changes options, keys, the clock or records. */
  readonly start?: (service: Service) => void;
  /** Changes a request before it is executed, for example so that a parameter has no effect. */
  readonly request?: (call: Call) => Call;
  /** A fault of this request. The rules of `admin.faults` come first. */
  readonly fault?: (call: Call) => Fault | null;
  /** Changes a response before it is sent. A response with a Content-Encoding is sent as it is. */
  readonly reply?: (reply: Reply, call: Call) => Reply;
}

/** A way that real services differ from the simulator's defaults. */
export interface OddService {
  /** For `--odd`. */
  readonly name: string;
  /** What the service does, in one line. */
  readonly description: string;
  /** Makes the behaviour of one simulator, with its own state. */
  readonly create: () => OddBehaviour;
}

/** Whether a request reads a page of a list. */
export function isListRequest(call: Call): boolean {
  return call.method === 'GET' && call.resource !== '' && call.segments?.length === 0;
}

/** Whether a request for a list, with its query, is among the first `count` of its kind. */
export function firstRequests(count: number): (call: Call) => boolean {
  const seen = new Map<string, number>();
  return (call) => {
    if (!isListRequest(call)) return false;
    const before = seen.get(call.target) ?? 0;
    seen.set(call.target, before + 1);
    return before < count;
  };
}
