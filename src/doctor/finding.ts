type CheckName =
  | 'configuration'
  | 'key'
  | 'proxy'
  | 'masking'
  | 'service'
  | 'grant'
  | 'page size'
  | 'cursor'
  | 'list'
  | 'updatedSince'
  | 'fetch by id'
  | 'window'
  | 'deletes'
  | 'clock'
  | 'lake'
  | 'organization'
  | 'alerts'
  | 'temporal'
  | 'worker'
  | 'worker version'
  | 'waiting run'
  | 'worker configuration'
  | 'versions';

/** The cause of a problem; it decides the exit code (docs/reference/commands.md). */
export type Cause = 'configuration' | 'refused' | 'out-of-reach' | 'other';

/**
 * The result of one check. `remedy` is a sentence that says what to do. `warning`: it passed, but the user should know. `subject`: what
 * was checked, such as a resource, if there are several; the message may begin with it.
 */
export type Finding = { readonly check: CheckName; readonly subject?: string; readonly message: string } & (
  | { readonly state: 'ok'; readonly remedy: null }
  | { readonly state: 'warning'; readonly remedy: string }
  | { readonly state: 'problem'; readonly remedy: string; readonly cause: Cause }
);

/** A finding and its connection; `null` for a finding about all connections. */
export type ConnectionFinding = Finding & { readonly connection: string | null };

export function ok(check: CheckName, message: string): Finding {
  return { check, state: 'ok', message, remedy: null };
}

export function warning(check: CheckName, message: string, remedy: string): Finding {
  return { check, state: 'warning', message, remedy };
}

export function problem(check: CheckName, cause: Cause, message: string, remedy: string): Finding {
  return { check, state: 'problem', cause, message, remedy };
}

/** A finding about one of several subjects, such as a resource. */
export function about(subject: string, finding: Finding): Finding {
  return { ...finding, subject };
}

/** From most to least important: only a person can resolve a refusal, whereas an unreachable server may recover. */
const ORDER: readonly Cause[] = ['refused', 'configuration', 'out-of-reach', 'other'];

/** The most important cause among the problems; `null` if there are no problems. */
export function worstCause(findings: readonly Finding[]): Cause | null {
  const causes = findings.flatMap((found) => (found.state === 'problem' ? [found.cause] : []));
  return ORDER.find((cause) => causes.includes(cause)) ?? null;
}
