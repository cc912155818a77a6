import { InputError } from './input-error.js';

/** Validates a batch id, which is part of a lake folder and of a workflow id. @throws InputError */
export function checkBatchId(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text)) return text;
  throw new InputError(
    `${JSON.stringify(text.slice(0, 120))} is not a valid batch id`,
    null,
    'Use 1 to 100 letters, digits, dots, hyphens and underscores, starting with a letter or a digit.',
  );
}
