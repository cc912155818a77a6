/** The gRPC status codes that this package distinguishes (https://grpc.io/docs/guides/status-codes/). */
const code = {
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** The gRPC status in the cause chain of an SDK error; `null` if there is none. */
function grpcCode(error: unknown): number | null {
  return grpcCause(error)?.code ?? null;
}

/** Whether the server could not be reached, so that the same call may succeed later. */
export function isUnreachable(error: unknown): boolean {
  const found = grpcCode(error);
  if (found !== null) {
    return found === code.unavailable || found === code.deadlineExceeded || found === code.resourceExhausted;
  }
  return messages(error).some((text) =>
    /Failed to connect|before the deadline|transport error|tonic/i.test(text),
  );
}

/** Whether the server rejected the credentials. */
export function isDenied(error: unknown): boolean {
  const found = grpcCode(error);
  return found === code.permissionDenied || found === code.unauthenticated;
}

export function isNamespaceMissing(error: unknown): boolean {
  return messages(error).some((text) => /namespace .*(not found|does not exist)/i.test(text));
}

/** The innermost message of the cause chain: that of the server or the network. */
export function grpcMessage(error: unknown): string {
  const cause = grpcCause(error);
  if (cause !== null) return cause.details;
  const text = messages(error).at(-1) ?? String(error);
  // The native client formats its errors as Rust structures that contain the system's message.
  return /message: "([^"]+)"/.exec(text)?.[1] ?? text;
}

function grpcCause(error: unknown): { code: number; details: string } | null {
  for (const one of chain(error)) {
    const { code, details } = one as { code?: unknown; details?: unknown };
    if (typeof code === 'number' && typeof details === 'string') return { code, details };
  }
  return null;
}

function messages(error: unknown): string[] {
  return [...chain(error)].map((one) => one.message);
}

function* chain(error: unknown): Generator<Error> {
  for (let one = error; one instanceof Error; one = one.cause) yield one;
}
