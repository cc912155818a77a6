import type { RunId, UtcSeconds } from '../../src/core/brands.js';
import type {
  Activities,
  Audited,
  PhaseName,
  Previewed,
  PublishedRun,
  PublishedState,
  RunEnded,
  RunRequest,
  Writer,
} from '../../src/core/contract/index.js';
import { newMirror, type RequestSpec, runSpec } from '../../src/core/mirror-requests.js';
import { warningTexts } from '../../src/core/run-records.js';
import { warningText } from '../../src/core/warnings.js';
import {
  type Call,
  type CallEnd,
  type Decided,
  fenced,
  type Mirror,
  type PhasesInput,
} from '../../src/mirror/mirror-commands.js';
import { callEnded, nextTurn, progressed, requested } from '../../src/mirror/mirror-rules.js';
import { type Perform, runPhases } from '../../src/run/phases.js';
import { failureOf } from '../../workflows/shared/run-errors.js';
import { newWriter } from './writer.js';

export type Input<N extends keyof Activities> = Parameters<Activities[N]>[0];
export type Output<N extends keyof Activities> = Awaited<ReturnType<Activities[N]>>;
/** A preview with its warnings in English. */
export type ShownPreview = Omit<Previewed, 'warnings'> & { readonly warnings: readonly string[] };

export type Ended = Omit<PublishedRun, 'warnings'> & {
  readonly runId: RunId;
  readonly inMemory: boolean;
  /** In English, schema changes included. */
  readonly warnings: readonly string[];
};

/** After so many attempts of its activity, a run begins in the lake. */
export const IN_LAKE = 4;

export interface Serving {
  /** Attempt of its first activity. */
  readonly attempt?: number;
  /** A call or a phase that the test makes itself: the request is forgotten when it is next. */
  readonly until?: Call['name'] | `worktrack.${PhaseName}`;
}

/** The call that is next, if it is not made. */
export class Next {
  constructor(readonly input: unknown) {}
}

/** How a request ended. */
interface Served {
  readonly ended: Ended | null;
  readonly previewed: ShownPreview | Audited | null;
  readonly tableWarnings: readonly string[];
  /** Of the next call, if it was not made. */
  readonly next: unknown;
}

/**
 * Carries out what the rules of a mirror decide, as its workflow does, but without Temporal: the activities are functions, and
 * a test can stop between two of them.
 */
export abstract class MirrorDriver {
  mirror: Mirror;
  /** The time of the last request by Temporal's clock, milliseconds since 1970. */
  clock = Date.now();
  /** The id of the next request, as after a reset of the mirror; `null`: a new one. */
  nextId: RunId | null = null;
  /** The id of the last request. */
  newestId: RunId | null = null;
  #requests = 0;
  /** Number of runs that took over pages of a failed run. */
  resumed = 0;

  constructor(connection: string, resource: string) {
    this.mirror = { state: newMirror(connection, resource), writer: newWriter(), turn: null };
  }

  abstract step<N extends keyof Activities>(name: N, input: Input<N>, attempt?: number): Promise<Output<N>>;

  get published(): RunId | null {
    return this.mirror.state.published?.runId ?? null;
  }
  set published(runId: RunId | null) {
    const published = runId && ({ ...this.mirror.state.published, runId } as PublishedState);
    this.mirror = { ...this.mirror, state: { ...this.mirror.state, published } };
  }
  get checkpoint(): { readonly updatedSince: UtcSeconds } | null {
    return this.mirror.state.checkpoint;
  }
  set checkpoint(checkpoint) {
    this.mirror = { ...this.mirror, state: { ...this.mirror.state, checkpoint } };
  }
  get writer(): Writer {
    return this.mirror.writer;
  }
  /** Another one makes it another mirror of the same lake. */
  set writer(writer) {
    this.mirror = { ...this.mirror, writer };
  }

  /** A sweep at a time that the test chooses. */
  sweep(options: Partial<Input<'worktrack.sweep'>> = {}): Promise<Output<'worktrack.sweep'>> {
    const fence = fenced(this.mirror, this.published ?? this.newestId!);
    return this.step('worktrack.sweep', { ...fence, replaced: [], before: null, ...options });
  }

  /** Each request has another second. */
  protected tick(): void {
    this.clock += 1000;
  }

  protected runSpec(changes: Partial<RunRequest> = {}): RequestSpec {
    return runSpec(this.clock, changes);
  }

  /** Serves a request from its arrival to its answer. @throws the failure of one of its calls */
  protected async serve(spec: RequestSpec, { attempt = 1, until }: Serving = {}): Promise<Served> {
    this.tick();
    const nominal = spec.kind === 'run' ? { nominalStart: this.clock } : {};
    const request = { ...spec, ...nominal, requestId: `request-${this.#requests++}`, replyTo: null };
    let served: Served = { ended: null, previewed: null, tableWarnings: [], next: null };
    let failure: unknown;
    let decided = nextTurn(requested({ ...this.mirror, turn: null }, request).mirror, this.#moment())!;
    for (;;) {
      const call = this.#decide(decided);
      if (call === null || call.name === until) {
        served = { ...served, next: call?.input };
        break;
      }
      // Refused because of a newer id, the request begins again.
      if (call.name === 'worktrack.run' || call.name === 'worktrack.purgeRecord') failure = undefined;
      try {
        const result = await this.#perform(call, attempt, until);
        served = { ...served, ...noted(call, result) };
        decided = callEnded(this.mirror, call, { result } as CallEnd<typeof call.name>, this.#moment());
      } catch (error) {
        if (error instanceof Next) {
          served = { ...served, next: error.input };
          break;
        }
        failure ??= error;
        decided = callEnded(this.mirror, call, { failure: failureOf(error) }, this.#moment());
      }
    }
    this.nextId = null;
    if (failure !== undefined) throw failure;
    return served;
  }

  /** @returns the call that is next */
  #decide({ mirror, commands }: Decided): Call | null {
    const [call = null] = commands.filter((command) => command.do === 'call');
    this.mirror = mirror;
    if (call?.name !== 'worktrack.run' && call?.name !== 'worktrack.purgeRecord') return call;
    const turn = mirror.turn!;
    this.newestId = this.nextId ?? turn.active.runId;
    const runId = this.newestId;
    this.mirror = { ...mirror, turn: { ...turn, active: { ...turn.active, runId } } };
    return { ...call, input: { ...call.input, runId } } as Call;
  }

  #perform({ name, input }: Call, attempt: number, until: Serving['until']): Promise<unknown> {
    if (name === 'phases') return this.#phases(input as PhasesInput, until);
    return this.step(name, input as never, name === 'worktrack.run' ? attempt : 1);
  }

  #phases({ ref, first }: PhasesInput, until: Serving['until']): Promise<RunEnded> {
    if (this.mirror.turn!.active.resumed !== null) this.resumed++;
    const perform: Perform = async (phase, input) => {
      const name = `worktrack.${phase}` as const;
      if (name === until) throw new Next(input);
      return this.step(name, input);
    };
    return runPhases(ref, first, perform, (next) => {
      this.mirror = progressed(this.mirror, next);
    });
  }

  #moment() {
    return { now: this.clock, random: () => Math.random().toString(16).slice(2).padEnd(8, '0') };
  }
}

/** What a test wants to know of a call. */
function noted({ name }: Call, result: unknown): Partial<Served> {
  if (name === 'worktrack.followTable')
    return { tableWarnings: (result as Output<'worktrack.followTable'>).warnings.map(warningText) };
  if (name !== 'worktrack.run' && name !== 'phases') return {};
  const done = result as Output<'worktrack.run'>;
  if (done.kind === 'published') {
    const { run, runId } = done;
    return { ended: { ...run, runId, inMemory: name === 'worktrack.run', warnings: warningTexts(run) } };
  }
  return done.kind === 'previewed' ? { previewed: shown(done.run) } : {};
}

function shown(run: Previewed | Audited): ShownPreview | Audited {
  return 'audit' in run ? run : { ...run, warnings: warningTexts(run) };
}
