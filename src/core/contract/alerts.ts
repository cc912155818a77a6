import type { AlertEvent, ProblemKind } from '../alert-events.js';
import type { EpochMs } from '../brands.js';
import type { RunRecord } from './run-reports.js';
import type { BatchRef, ConfirmationCounts, RowCounts, WriteBackResult } from './write-back.js';

/** One problem that an observation has found. */
export interface FoundProblem {
  readonly kind: ProblemKind;
  /** What identifies the state: a problem with another mark is news, one with the same mark is not. */
  readonly mark: string;
  readonly text: string;
  /** Ids of the targets that it concerns. Absent: all. */
  readonly only?: readonly string[];
  /** Of `behind`: the time when a run was due. */
  readonly dueAt?: EpochMs;
}

/** What is known of one resource of a connection: of the kinds in `covers`, it has exactly `problems`. */
export interface Observation {
  readonly resource: string;
  readonly covers: readonly ProblemKind[];
  readonly problems: readonly FoundProblem[];
  /** Whether the end of a problem is no recovery, because nothing asks for it any more. Absent: no. */
  readonly quietly?: true;
  /**
   * When this was so: the start of the run, or when the lake was read. Reports overtake each other, for example because an export
   * reports all its resources at its end. Absent: when it is reported.
   */
  readonly asOf?: EpochMs;
}

/** A target of a connection, without its address. */
export interface AlertTarget {
  /** Fingerprint of the target's configuration. Connections with the same target share its messages. */
  readonly id: string;
  readonly on: readonly AlertEvent[];
  /** Whether the target gets one event for each connection and kind, as PagerDuty does, instead of messages. */
  readonly incidents: boolean;
}

/** To the workflow that sends alerts: what is known of a connection. */
export interface AlertReport {
  readonly connection: string;
  /** Empty: the connection has no targets any more. */
  readonly targets: readonly AlertTarget[];
  /** All resources of the connection. Problems of others are dropped. */
  readonly resources: readonly string[];
  readonly observations: readonly Observation[];
  /** When to look whether data have become stale; `null`: never. Absent: as before. */
  readonly checkAt?: EpochMs | null;
  /** As `checkAt`, unless an earlier check is planned. Absent: no. */
  readonly checkBy?: EpochMs;
  /** Whether the Schedule is paused or absent. No run is due until then. Absent: no. */
  readonly isPaused?: true;
}

/** A problem, or one that has ended without some target knowing it. */
export interface AlertProblem extends Omit<FoundProblem, 'dueAt'> {
  readonly connection: string;
  readonly resource: string;
  readonly since: EpochMs;
  /** When it ended; absent: it has not. */
  readonly overAt?: EpochMs;
  /** Whether its end is no recovery, for example because another kind of failed run has replaced it. Absent: no. */
  readonly isReplaced?: true;
  /** The mark that each target has heard of, by the target's id; `null`: it has heard of the end. */
  readonly told: Readonly<Record<string, string | null>>;
}

/** What is known of one target. Of its times, 0 is never. */
export interface AlertTargetState {
  readonly incidents: boolean;
  /** Until this time, further news are collected. */
  readonly quietUntil: EpochMs;
  readonly remindAt: EpochMs;
  /** After a message that could not be sent: the next attempt. */
  readonly retryAt: EpochMs;
  /** The problems in the message that is being sent, as the rules name them. Absent: none is being sent. */
  readonly sending?: readonly string[];
}

/** What is remembered of a connection. */
export interface AlertsConnection {
  readonly targets: readonly AlertTarget[];
  /** When to look whether data have become stale; `null`: never. */
  readonly checkAt: EpochMs | null;
  /** When its Schedule was last seen paused or absent; 0: never. */
  readonly pausedAt: EpochMs;
  readonly problems: readonly AlertProblem[];
  /** The newest `asOf` of each resource and first covered kind, as the rules name them. Absent: none. */
  readonly seen?: Readonly<Record<string, EpochMs>>;
}

/** The state of the workflow that sends alerts. */
export interface AlertsState {
  readonly connections: Readonly<Record<string, AlertsConnection>>;
  /** By id. */
  readonly targets: Readonly<Record<string, AlertTargetState>>;
}

/** Problems of one connection that a message lists under one event. */
export interface AlertGroup {
  readonly connection: string;
  readonly event: AlertEvent;
  /** The oldest of them. */
  readonly since: EpochMs;
  /** The first resources, by name. */
  readonly resources: readonly string[];
  /** How many resources have the problem. */
  readonly count: number;
  /** The first different texts, each with its resources. */
  readonly causes: readonly AlertCause[];
}

interface AlertCause {
  /** The first resources, by name. */
  readonly resources: readonly string[];
  /** How many resources have this text. Absent: those that are named. */
  readonly count?: number;
  readonly text: string;
}

/** Groups of a message. */
export interface AlertGroups {
  readonly groups: readonly AlertGroup[];
  /** How many groups are left out, because there are too many. */
  readonly more: number;
  /** How many connections all of them have. */
  readonly connections: number;
}

/** A message to one target, before it is written in the target's format. */
export interface AlertMessage {
  /** The id of the target. */
  readonly target: string;
  /** `alert`: something is new; `reminder`: nothing is new; `resolve`: the end of an incident. */
  readonly kind: 'alert' | 'reminder' | 'resolve';
  /** The most important event. */
  readonly event: AlertEvent;
  readonly at: EpochMs;
  readonly news: AlertGroups;
  readonly over: AlertGroups;
  /** What the target has heard of before and is not over. */
  readonly still: AlertGroups;
  /** Whether it is an example that somebody sends to try a target. Absent: no. */
  readonly isTest?: true;
  /** The task queue of the worker that sends it. Absent: the default one. */
  readonly taskQueue?: string;
}

/** Whether a target exists no longer; then it gets no further messages. */
export interface AlertSent {
  readonly isGone: boolean;
}

export interface SendAlertInput {
  /** The connections with this target; the first that the worker knows gives the configuration. */
  readonly connections: readonly string[];
  readonly message: AlertMessage;
}

/** The end of a write-back. */
export interface WriteBackAlert
  extends Pick<RowCounts, 'rejected' | 'unknown'>,
    Pick<WriteBackResult, 'batchId' | 'unsent' | 'error'>,
    Partial<Pick<WriteBackResult, 'differs'>> {
  readonly resource: string;
}

/** What was found of the written rows of a batch. */
export interface ConfirmationAlert extends ConfirmationCounts, Pick<BatchRef, 'batchId'> {
  readonly resource: string;
}

/** What an export, a mirror or a write-back reports. */
export interface ReportAlertsInput {
  readonly connection: string;
  readonly runs: readonly Pick<
    RunRecord,
    'resource' | 'outcome' | 'runId' | 'warnings' | 'schemaChanges' | 'error' | 'audit'
  >[];
  readonly writeBack?: WriteBackAlert;
  readonly confirmation?: ConfirmationAlert;
}

/** Input of `watchWorkflow`, and of its activity. */
export interface WatchInput {
  readonly connection: string;
  /** Report even if nothing is wrong. Absent: no, so that a watcher costs little. */
  readonly always?: true;
}
