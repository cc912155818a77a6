/** What `worktrack doctor` looks at. */
export type CheckName =
  | 'configuration'
  | 'key'
  | 'service'
  | 'grant'
  | 'page size'
  | 'clock'
  | 'lake'
  | 'temporal'
  | 'worker'
  | 'versions';

/** Who has to act: it decides the exit code (DESIGN 5). */
export type Cause = 'configuration' | 'refused' | 'out-of-reach' | 'other';

/** One line of the examination. `remedy` is a sentence that says what to do, and is there unless all is well. */
export type Finding =
  | { readonly check: CheckName; readonly state: 'ok'; readonly message: string; readonly remedy: null }
  | {
      readonly check: CheckName;
      /** Things work, and a person should know all the same. */
      readonly state: 'warning';
      readonly message: string;
      readonly remedy: string;
    }
  | {
      readonly check: CheckName;
      readonly state: 'problem';
      readonly cause: Cause;
      readonly message: string;
      readonly remedy: string;
    };

/** A finding with the connection that it concerns; `null` where it concerns all. */
export type Examined = Finding & { readonly connection: string | null };

export function ok(check: CheckName, message: string): Finding {
  return { check, state: 'ok', message, remedy: null };
}

export function warning(check: CheckName, message: string, remedy: string): Finding {
  return { check, state: 'warning', message, remedy };
}

export function problem(check: CheckName, cause: Cause, message: string, remedy: string): Finding {
  return { check, state: 'problem', cause, message, remedy };
}

/** The refusal first, for only a person can lift it; what time may cure comes last. */
const ORDER: readonly Cause[] = ['refused', 'configuration', 'out-of-reach', 'other'];

/** What weighs most among the problems; `null` where there are warnings at most. */
export function worstCause(findings: readonly Finding[]): Cause | null {
  const causes = findings.flatMap((found) => (found.state === 'problem' ? [found.cause] : []));
  return ORDER.find((cause) => causes.includes(cause)) ?? null;
}
