/** A mirror, the commands that its rules decide (`mirror-rules.ts`), and the calls among them. */
import type { EpochMs, RunId } from '../core/brands.js';
import type {
  ActiveRun,
  Activities,
  DiscardRunInput,
  MirrorState,
  NextPhase,
  RunAnswer,
  RunEnded,
  RunInput,
  RunPublished,
  RunRecord,
  RunRef,
  RunSpilled,
  Writer,
} from '../core/contract/index.js';
import { type RunFailure, type Work, workOf } from '../core/mirror-requests.js';
import type { Batch } from './request-queue.js';

/** A mirror, with what it does at the moment. */
export interface Mirror {
  /** Carried over a continue-as-new, which is between two turns. */
  readonly state: MirrorState;
  /** This mirror, as pointer and manifests name it. */
  readonly writer: Writer;
  /** `null`: no request is served. */
  readonly turn: Turn | null;
}

/** One batch of requests, from the start of its run to its answers. */
export interface Turn {
  readonly batch: Batch;
  /** Ids of the requests that were not withdrawn. */
  readonly wanted: readonly string[];
  /** Whether it is a dry run that ends because another request waits. */
  readonly givesWay: boolean;
  /** When the turn began. */
  readonly beganAt: EpochMs;
  /** An id in the lake that the mirror did not know, so that the request was refused once; `null`: none. */
  readonly newer: RunId | null;
  /** The run that this one takes the place of, because no worker could read what it had staged; `null`: there was none. */
  readonly notContinued: RunInput['notContinued'] | null;
  /** The run's id in the lake. A run in memory is published under the id of its attempt. */
  readonly runId: RunId;
  readonly active: ActiveRun;
  /** How far the run is in the lake. From `sent` on, its swap may arrive, so it may be published although it fails. */
  readonly inLake: 'no' | 'staged' | 'sent';
  /** Since the swap. */
  readonly published: RunPublished | null;
  /** The report so far, since it is certain how the run ends. */
  readonly report: RunRecord | null;
}

/** What a mirror calls: activities, and `phases`, which is those of a run in the lake. */
interface Calls
  extends Pick<
    Activities,
    | 'worktrack.run'
    | 'worktrack.followTable'
    | 'worktrack.followOnPublished'
    | 'worktrack.sweep'
    | 'worktrack.sweepFailedRun'
    | 'worktrack.purgeRecord'
  > {
  phases(input: PhasesInput): Promise<RunEnded>;
}

export interface PhasesInput extends Pick<RunSpilled, 'giveUpAfterMs'>, Pick<RunInput, 'startedAt'> {
  readonly ref: RunRef;
  readonly first: NextPhase;
}

export type CallName = keyof Calls;
export type InputOf<N extends CallName> = Parameters<Calls[N]>[0];
export type ResultOf<N extends CallName> = Awaited<ReturnType<Calls[N]>>;

export interface Call<N extends CallName = CallName> {
  readonly do: 'call';
  readonly name: N;
  readonly input: InputOf<N>;
  readonly work: Work;
  /** What it does, for people. */
  readonly summary?: string;
}

export type CallEnd<N extends CallName> = { readonly result: ResultOf<N> } | { readonly failure: RunFailure };

type AnyCall = { [N in CallName]: Call<N> }[CallName];

export type Command =
  /** Followed by `callEnded`. At most one of the commands of a decision, and its last. */
  | AnyCall
  /** Cancels the call in progress. */
  | { readonly do: 'cancel' }
  | { readonly do: 'reply'; readonly to: string; readonly answer: RunAnswer }
  /** Counts a run that has ended, whatever its outcome. */
  | { readonly do: 'count'; readonly report: RunRecord; readonly ms: number }
  | { readonly do: 'alert'; readonly report: RunRecord }
  /** Removes what a dry run has left for a person to see. */
  | { readonly do: 'discard-later'; readonly input: DiscardRunInput; readonly afterMs: number };

export interface Decided {
  readonly mirror: Mirror;
  readonly commands: readonly Command[];
}

/** When an event happens. */
export interface Moment {
  readonly now: EpochMs;
  /** A text that starts with eight hexadecimal digits. */
  random(): string;
}

/** The decision to call something for the current turn, or for no request. */
export function call<N extends CallName>(
  mirror: Mirror,
  name: N,
  input: InputOf<N>,
  summary?: string,
): Decided {
  const work = mirror.turn === null ? 'background' : workOf(mirror.turn.batch.first);
  return { mirror, commands: [{ do: 'call', name, input, work, ...(summary && { summary }) } as AnyCall] };
}

/** Identifies a run and its mirror. */
export function fenced({ state, writer }: Mirror, runId: RunId) {
  const { connection, resource, published, displaced } = state;
  return { connection, resource, runId, writer, publishedRunId: published?.runId ?? null, displaced };
}

export function changed(mirror: Mirror, state: Partial<MirrorState>, turn: Partial<Turn> = {}): Mirror {
  return {
    ...mirror,
    state: { ...mirror.state, ...state },
    turn: mirror.turn && { ...mirror.turn, ...turn },
  };
}

export function turnOf({ turn }: Mirror): Turn {
  if (turn === null) throw new Error('the mirror serves no request');
  return turn;
}
