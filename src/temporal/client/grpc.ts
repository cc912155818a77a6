import { NamespaceNotFoundError } from '@temporalio/common';
import type { OutageReason } from '../../core/reachability.js';

/** The gRPC status codes that this package distinguishes (https://grpc.io/docs/guides/status-codes/). */
const code = {
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** Whether the server could not be reached, so that the same call may succeed later. */
export function isUnreachable(error: unknown): boolean {
  const found = grpcCause(error)?.code;
  if (found !== undefined)
    return found === code.unavailable || found === code.deadlineExceeded || found === code.resourceExhausted;
  return messages(error).some((text) =>
    /Failed to connect|before the deadline|transport error|tonic/i.test(text),
  );
}

/** Whether the server kept back what it may know: it cannot be reached, or it rejected the credentials. */
export function isWithheld(error: unknown): boolean {
  return isUnreachable(error) || isDenied(error);
}

/** Whether a call or a connection took longer than its limit. */
export function isTooLate(error: unknown): boolean {
  const found = grpcCause(error)?.code;
  if (found !== undefined) return found === code.deadlineExceeded;
  return messages(error).some((text) => text.includes('before the deadline'));
}

/** Why a call was not served, for an outage. */
export function outageReason(error: unknown): OutageReason {
  const text = grpcMessage(error);
  return grpcCause(error)?.code === code.resourceExhausted
    ? { text, remedy: 'Wait, or raise the limit of the namespace.' }
    : text;
}

/** The parts of a call's status that are read or completed here. */
interface CallStatus {
  code: number;
  details: string;
}

/**
 * Completes the status of a call with what its error would not say: the method that was denied, and why the attempts before
 * the deadline failed, such as a limit that refused all of them. The client repeats such attempts until the deadline, and its
 * error then names only the deadline.
 *
 * @param path of the method, such as `/temporal.api.workflowservice.v1.WorkflowService/DescribeTaskQueue`
 * @returns called with the status of each attempt
 */
export function statusCompleter(path: string): (status: CallStatus) => void {
  const method = path.slice(path.lastIndexOf('/') + 1);
  let limit: string | null = null;
  let unavailable: string | null = null;
  return (status) => {
    if (status.code === code.resourceExhausted) {
      limit ??= `it limits requests: ${status.details} (${method})`;
      status.details = limit;
    } else if (status.code === code.deadlineExceeded && limit !== null) {
      status.code = code.resourceExhausted;
      status.details = limit;
    } else if (status.code === code.unavailable) {
      unavailable = status.details;
    } else if (status.code === code.deadlineExceeded && unavailable !== null) {
      status.details = unavailable;
    } else if (status.code === code.permissionDenied || status.code === code.unauthenticated) {
      status.details = `${status.details || 'no reason given'} (${method})`;
    }
  };
}

/** Whether the server rejected the credentials. */
export function isDenied(error: unknown): boolean {
  const found = grpcCause(error)?.code;
  if (found !== undefined) return found === code.permissionDenied || found === code.unauthenticated;
  // The native client describes the status in words when it connects.
  return messages(error).some((text) =>
    /code: 'The (?:request does not have valid authentication|caller does not have permission)/.test(text),
  );
}

/** Whether the server answered a poll with a refusal, and did not only keep it waiting. */
export function isRefusedPoll(error: unknown): boolean {
  return grpcCause(error)?.code === code.notFound || isDenied(error);
}

/** Whether the server does not know the object of the call. */
export function isMissing(error: unknown): boolean {
  return grpcCause(error)?.code === code.notFound;
}

/** Whether the server has no such namespace: the client's own error, or the type in the details of a status. */
export function isNamespaceMissing(error: unknown): boolean {
  return [...chain(error)].some((one) => {
    if (one instanceof NamespaceNotFoundError) return true;
    const { metadata } = one as { metadata?: { get(name: string): readonly (string | Buffer)[] } };
    const details = metadata?.get('grpc-status-details-bin') ?? [];
    return details.some((detail) => detail.includes('errordetails.v1.NamespaceNotFoundFailure'));
  });
}

/** The innermost message of the cause chain: that of the server or the network. */
export function grpcMessage(error: unknown): string {
  const cause = grpcCause(error);
  if (cause !== null) return cause.details;
  const text = messages(error).at(-1) ?? String(error);
  for (const [pattern, words, call = ''] of NATIVE_CAUSES) {
    const found = text.includes(call) ? pattern.exec(text) : null;
    if (found !== null) return words.replace('$1', found[1] ?? '');
  }
  return text;
}

/** What the errors of the native client mean, of any call or of one. It formats them as Rust structures. */
const NATIVE_CAUSES: readonly (readonly [pattern: RegExp, words: string, call?: string])[] = [
  [/InvalidCertificate\((?:Expired|NotValidYet)/, "the server's certificate has expired or is not valid yet"],
  [
    /InvalidCertificate\((?:UnknownIssuer|BadSignature)/,
    "the server's certificate is not issued by a known authority (TEMPORAL_TLS_SERVER_CA_CERT_PATH)",
  ],
  [/InvalidCertificate\(NotValidForName/, "the server's certificate is for another host"],
  [/InvalidCertificate\((\w+)/, "the server's certificate is not valid ($1)"],
  [/InconsistentKeys/, 'the client certificate and its key do not belong together'],
  [/PrivateKeyParseError|CertificateParseError/, 'the client certificate or its key is not valid PEM'],
  [/received fatal alert: (\w+)/, 'the server ended the TLS handshake ($1)'],
  [
    /hyper::Error|operation was canceled/,
    'the server closed the new connection, as it does if it rejects the client certificate or needs TLS',
    'Failed to call GetSystemInfo',
  ],
  [/error: "([^"]+)"/, '$1'],
  [/message: "([^"]+)"/, '$1'],
];

/** The gRPC status in the cause chain of an SDK error; `null` if there is none. */
function grpcCause(error: unknown): { code: number; details: string } | null {
  for (const one of chain(error)) {
    const { code, details } = one as { code?: unknown; details?: unknown };
    // The native client has the text only in its message.
    if (typeof code === 'number' && typeof details === 'string')
      return { code, details: details === '' ? one.message : details };
  }
  return null;
}

function messages(error: unknown): string[] {
  return [...chain(error)].map((one) => one.message);
}

function* chain(error: unknown): Generator<Error> {
  for (let one = error; one instanceof Error; one = one.cause) yield one;
}
