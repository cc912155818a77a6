import { pathToFileURL } from 'node:url';
import { ApplicationFailure } from '@temporalio/common';
import { onTestFinished } from 'vitest';
import { parseSettings } from '../../src/config/index.js';
import type { Activities } from '../../src/core/contract/index.js';
import { ActivityMirror } from './in-process-mirror.js';
import type { Input, Output } from './mirror-driver.js';
import type { Random } from './random.js';

/** The variables with the API keys of the two workers. */
export const KEY_OF = ['TEST_KEY_OF_WORKER_1', 'TEST_KEY_OF_WORKER_2'] as const;
const MAX_ATTEMPTS = 8;

/** One mirror whose activities, and their attempts, are on one of two workers at random. Each has its own API key. */
export class TwoWorkers extends ActivityMirror {
  readonly #other: ActivityMirror;
  readonly #random: Random;

  private constructor(settings: readonly string[], resource: string, random: Random) {
    const [first, second] = settings.map((text) => parseSettings(text, 'test'));
    super(first!, resource);
    this.#other = new ActivityMirror(second!, resource);
    this.#random = random;
  }

  static async start(
    baseUrl: string,
    resources: string,
    resource: string,
    { random, folder }: { readonly random: Random; readonly folder: string },
  ): Promise<TwoWorkers> {
    const settings = KEY_OF.map(
      (env) =>
        `connections: { acme: { baseUrl: "${baseUrl}", apiKey: { env: ${env} }, ` +
        `lake: { url: "${pathToFileURL(folder).href}" }, resources: [${resources}] } }`,
    );
    const workers = new TwoWorkers(settings, resource, random);
    onTestFinished(async () => {
      for (const env of KEY_OF) delete process.env[env];
      await workers.close();
    });
    return workers;
  }

  /** Both workers begin to stop, so that a long activity ends after its current page. */
  drain(): void {
    this.draining = true;
    this.#other.draining = true;
  }

  override async step<N extends keyof Activities>(name: N, input: Input<N>, attempt = 1): Promise<Output<N>> {
    this.draining = false;
    this.#other.draining = false;
    this.#other.clock = this.clock;
    try {
      if (this.#random.share() < 0.5) return await super.step(name, input, attempt);
      return await this.#other.step(name, input, attempt);
    } catch (error) {
      const isFinal = !(error instanceof ApplicationFailure) || error.nonRetryable === true;
      if (isFinal || attempt >= MAX_ATTEMPTS) throw error;
      return this.step(name, input, attempt + 1);
    }
  }

  override async close(): Promise<void> {
    await this.#other.close();
    await super.close();
  }
}
