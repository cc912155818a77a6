import type { Dataset, DatasetContext } from '../data/dataset.js';
import type { Fault } from '../faults.js';
import type { KeyRing } from '../http/api-keys.js';
import type { Call, CursorCodec } from '../http/call.js';
import type { Reply } from '../http/reply.js';

/** What an odd service can change of the simulator. */
export interface OddTarget extends Pick<DatasetContext, 'clock' | 'options' | 'resources'> {
  readonly codec: CursorCodec;
  readonly keys: KeyRing;
  /** The data of an organization. */
  dataset(organization: string): Dataset;
}

/** What an odd service does differently. All of it is optional, and several odd services can be combined. */
export interface OddBehaviour {
  /** Runs when the simulator starts: changes options, the clock or records. */
  readonly start?: (service: OddTarget) => void;
  /** Changes a request before it is executed, for example so that a parameter has no effect. */
  readonly request?: (call: Call, service: OddTarget) => Call;
  /** A fault of this request. The rules of `admin.faults` come first. */
  readonly fault?: (call: Call) => Fault | null;
  /** Changes a response before it is sent. A response with a Content-Encoding is sent as it is. */
  readonly reply?: (reply: Reply, call: Call, service: OddTarget) => Reply;
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

/** Odd services by name: what each one does, and its behaviour as in `OddService`. */
export type OddCatalog = Readonly<
  Record<string, readonly [description: string, create: OddService['create']]>
>;

/** The same request with other parameters; `null` removes one. */
export function withQuery(call: Call, changes: Readonly<Record<string, string | null>>): Call {
  const query = new URLSearchParams(call.query);
  for (const [name, value] of Object.entries(changes))
    if (value === null) query.delete(name);
    else query.set(name, value);
  return { ...call, query };
}
