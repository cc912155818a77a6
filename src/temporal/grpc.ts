/** Status codes of gRPC that this package tells apart (https://grpc.io/docs/guides/status-codes/). */
const code = {
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** The gRPC status behind an error of the SDK, which wraps it; `null` when there is none. */
export function grpcCode(error: unknown): number | null {
  return grpcCause(error)?.code ?? null;
}

/** Whether the server could not be asked at all, so that the same call may succeed later with nothing changed. */
export function isUnreachable(error: unknown): boolean {
  const found = grpcCode(error);
  if (found !== null) {
    return found === code.unavailable || found === code.deadlineExceeded || found === code.resourceExhausted;
  }
  return messages(error).some((text) =>
    /Failed to connect|before the deadline|transport error|tonic/i.test(text),
  );
}

/** Whether the server turned away who is asking. */
export function isDenied(error: unknown): boolean {
  const found = grpcCode(error);
  return found === code.permissionDenied || found === code.unauthenticated;
}

export function isNamespaceMissing(error: unknown): boolean {
  return messages(error).some((text) => /namespace .*(not found|does not exist)/i.test(text));
}

/** The innermost message: what the server or the network said, without the SDK's wrapping. */
export function grpcMessage(error: unknown): string {
  const cause = grpcCause(error);
  if (cause !== null) return cause.details;
  const text = messages(error).at(-1) ?? String(error);
  // The native client prints its errors as Rust structures; the system's own word is in the middle.
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
