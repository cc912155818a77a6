import { InvalidArgumentError } from '../../core/argument-error.js';
import type { BackfillInput, ExportInput, PurgeInput, RollbackInput } from '../../core/contract/index.js';
import { isRunId } from '../../core/run-id.js';
import { parseSince } from '../../core/utc-time.js';

/** Manifests and warnings show who has accepted checks. @throws InvalidArgumentError unless it is one short line */
export function checkExport({ acceptChecks }: ExportInput): void {
  if (acceptChecks === undefined || /^[^\p{Cc}]{1,200}$/u.test(acceptChecks)) return;
  throw new InvalidArgumentError(
    'acceptChecks',
    'is not the name of a person',
    'Write who accepts the failed checks, in up to 200 characters, such as alice@laptop.',
  );
}

/** Returns the input with `since` in whole seconds, UTC. @throws InvalidArgumentError */
export function checkBackfill(input: BackfillInput): BackfillInput {
  if (input.since !== undefined && input.reconcile === true)
    throw new InvalidArgumentError(
      'since',
      'and reconcile exclude each other: only a full read detects deletes',
    );
  return withCheckedSince(input);
}

/** Returns the input with `since` in whole seconds, UTC. @throws InvalidArgumentError */
export function withCheckedSince<Input extends { readonly since?: string }>(input: Input): Input {
  if (input.since === undefined) return input;
  const since = parseSince(input.since);
  if (since === null) {
    throw new InvalidArgumentError(
      'since',
      `${JSON.stringify(input.since)} is not a time`,
      'Write a date such as 2026-08-01, or a time with its zone such as 2026-08-01T12:00:00Z.',
    );
  }
  if (Date.parse(since) > Date.now())
    throw new InvalidArgumentError(
      'since',
      `${since} is in the future`,
      'Nothing can have changed since then.',
    );
  return { ...input, since };
}

/** @throws InvalidArgumentError unless `to` is a run id */
export function checkRollback({ to }: RollbackInput): void {
  if (isRunId(to)) return;
  throw new InvalidArgumentError(
    'to',
    `${JSON.stringify(to)} is not a run id`,
    'Run ids look like 20261121T020000Z-1a2b3c4d. `worktrack history` lists them.',
  );
}

/** @throws InvalidArgumentError for an empty key. The message does not repeat the key, which belongs to a person's data. */
export function checkPurge({ key }: PurgeInput): void {
  if (key.length === 0 || key.some((value) => value === ''))
    throw new InvalidArgumentError(
      'key',
      'has no value',
      'Give the values of the key fields, in their order.',
    );
}
