import { createInterface } from 'node:readline/promises';
import { DetachedError } from './usage-error.js';

export interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** One question to a person. */
export interface Question {
  readonly text: string;
  /** What an empty answer means; absent: it must be answered. */
  readonly fallback?: string | undefined;
  /** What is wrong with an answer; `null` for nothing. */
  check(answer: string): string | null;
}

/** Asks a question after another until each has an answer that will do. */
export interface Asker {
  ask(question: Question): Promise<string>;
  close(): void;
}

/** @throws DetachedError (from `ask`) when the person presses Ctrl-C or Ctrl-D */
export function askOn({ input, output }: Terminal): Asker {
  const lines = createInterface({ input, output, terminal: true });
  const gone = new AbortController();
  lines.once('close', () => gone.abort());
  lines.once('SIGINT', () => lines.close());
  return {
    async ask({ text, fallback, check }) {
      const prompt = `${text}${fallback ? ` [${fallback}]` : ''}: `;
      for (;;) {
        const answer = await lines.question(prompt, { signal: gone.signal }).catch(() => {
          throw new DetachedError('\nNothing was written.');
        });
        const given = answer.trim() === '' ? fallback : answer.trim();
        const why = given === undefined ? 'an answer is needed' : check(given);
        if (why === null) return given ?? '';
        output.write(`  ${why}\n`);
      }
    },
    close: () => lines.close(),
  };
}
