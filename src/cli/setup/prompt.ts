import { createInterface, type ReadLineOptions } from 'node:readline/promises';
import { DetachedError } from '../shared/choose-exit-code.js';
import { terminalWidth, wrap } from '../shared/output.js';

interface Question {
  readonly text: string;
  /** The value of an empty answer; absent: an answer is required. */
  readonly fallback?: string | undefined;
  /** The problem with an answer; `null` if it is valid. */
  check(answer: string): string | null;
}

/** Asks each question until the answer is valid. */
export interface Prompter {
  ask(question: Question): Promise<string>;
  close(): void;
}

/** Whether this process can prompt: both the answers and the questions have a terminal. */
export function canPrompt(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Prompts on the terminal of this process. @param left what has not happened, for the error of a user who leaves */
export async function withPrompter<T>(left: string, work: (prompter: Prompter) => Promise<T>): Promise<T> {
  const prompter = createPrompter({ input: process.stdin, output: process.stderr }, left);
  try {
    return await work(prompter);
  } finally {
    prompter.close();
  }
}

/** A stream for prompts; without `columns`, lines are not wrapped. */
type Terminal = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/**
 * @param left what has not happened, for the error of a user who leaves
 * @throws DetachedError (from `ask`) if the user presses Ctrl-C or Ctrl-D
 */
export function createPrompter(
  { input, output }: Pick<ReadLineOptions, 'input'> & { readonly output: Terminal },
  left: string,
): Prompter {
  const lines = createInterface({ input, output, terminal: true });
  const closed = new AbortController();
  lines.once('close', () => closed.abort());
  lines.once('SIGINT', () => lines.close());
  return {
    async ask({ text, fallback, check }) {
      const prompt = `${text}${fallback ? ` [${fallback}]` : ''}:`;
      // The terminal would break words.
      const [last = '', ...before] = wrap(prompt, terminalWidth(output)).reverse();
      for (;;) {
        for (const line of before.toReversed()) output.write(`${line}\n`);
        const answer = await lines.question(`${last} `, { signal: closed.signal }).catch(() => {
          throw new DetachedError(left);
        });
        const given = answer.trim() === '' ? fallback : answer.trim();
        const problem = given === undefined ? 'an answer is required' : check(given);
        if (problem === null) return given ?? '';
        for (const line of wrap(`  ${problem}`, terminalWidth(output))) output.write(`${line}\n`);
      }
    },
    close: () => lines.close(),
  };
}
