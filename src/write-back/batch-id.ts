import { InputError } from './input-error.js';

/** Takes a text for a batch id: it names a folder of the lake and a workflow. @throws InputError */
export function checkBatchId(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text)) return text;
  throw new InputError(
    `${JSON.stringify(text.slice(0, 120))} is no batch id`,
    null,
    'Give 1 to 100 letters, digits, dots, hyphens and underscores, with a letter or a digit first.',
  );
}
