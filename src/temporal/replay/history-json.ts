import { createRequire } from 'node:module';
import type { History } from '@temporalio/common/lib/proto-utils.js';

/*
 * The SDK's `historyFromJSON` uses the protobufjs of @temporalio/common with types created by the protobufjs of
 * @temporalio/proto. In a default installation these are two copies, because another package depends on an older
 * protobufjs, and every history fails with "type must be a Type". This reader uses the protobufjs of @temporalio/proto.
 */
interface Enumeration {
  readonly name: string;
  readonly values: Readonly<Record<string, number>>;
}
interface Field {
  resolve(): { readonly resolvedType: MessageType | Enumeration | null };
}
interface MessageType {
  readonly fields: Readonly<Record<string, Field>>;
}
interface ProtoRoot {
  lookupType(name: string): MessageType;
}
interface ProtoJson {
  fromJson(type: MessageType, json: unknown, options: { ignoreUnknownFields: boolean }): History | null;
}

const common = createRequire(createRequire(import.meta.url).resolve('@temporalio/common'));
const HISTORY = 'temporal.api.history.v1.History';

/**
 * Parses a history from ProtoJSON. Accepts full enumeration names and the short names that some versions of Temporal's
 * tools write (`WorkflowExecutionStarted`). Ignores fields that this SDK does not know.
 *
 * @throws Error if it is not a history
 */
export function readHistoryJson(events: readonly object[]): History {
  const root = common('@temporalio/proto') as ProtoRoot;
  const { fromJson } = createRequire(common.resolve('@temporalio/proto'))(
    'protobufjs/ext/protojson',
  ) as ProtoJson;
  const type = root.lookupType(HISTORY);
  const history = fromJson(type, withFullNames({ events }, type), { ignoreUnknownFields: true });
  if (history === null) throw new Error('it is null');
  return history;
}

/** Replaces short enumeration names by full names. */
function withFullNames(value: unknown, type: MessageType | Enumeration | null): unknown {
  if (Array.isArray(value)) return value.map((inner) => withFullNames(inner, type));
  if (type === null) return value;
  if ('values' in type) return typeof value === 'string' ? fullName(value, type) : value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const field = Object.hasOwn(type.fields, key) ? type.fields[key] : undefined;
      return [key, withFullNames(inner, field?.resolve().resolvedType ?? null)];
    }),
  );
}

function fullName(name: string, { name: enumeration, values }: Enumeration): string {
  const full = `${constantCase(enumeration)}_${constantCase(name)}`;
  return !Object.hasOwn(values, name) && Object.hasOwn(values, full) ? full : name;
}

function constantCase(name: string): string {
  return name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toUpperCase();
}
