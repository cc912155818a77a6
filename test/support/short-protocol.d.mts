/** The part of a protocol, as protobufjs describes it in JSON, that some code uses. The protocol loses the rest. */
export function usedBy<Protocol extends object>(code: string, protocol: Protocol): Protocol;
