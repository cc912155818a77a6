import { createRequire } from 'node:module';
import type { History } from '@temporalio/common/lib/proto-utils.js';

/*
 * The SDK's own `historyFromJSON` reads with the protobufjs of @temporalio/common and types made by the one of
 * @temporalio/proto. In a plain installation these are two copies, since another package's older protobufjs takes the
 * shared place, and each history fails with "type must be a Type". So the reader here is the one that made the types.
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
 * A history from its JSON form (ProtoJSON), with names of enumerations in full or, as some versions of Temporal's tools
 * write them, short (`WorkflowExecutionStarted`). Fields that this SDK does not know are left out.
 *
 * @throws Error for what is none
 */
export function readHistoryJson(events: readonly object[]): History {
  const root = common('@temporalio/proto') as ProtoRoot;
  const { fromJson } = createRequire(common.resolve('@temporalio/proto'))(
    'protobufjs/ext/protojson',
  ) as ProtoJson;
  const type = root.lookupType(HISTORY);
  const history = fromJson(type, inFull({ events }, type), { ignoreUnknownFields: true });
  if (history === null) throw new Error('it is null');
  return history;
}

/** The same with every name of an enumeration in full. */
function inFull(value: unknown, type: MessageType | Enumeration | null): unknown {
  if (Array.isArray(value)) return value.map((inner) => inFull(inner, type));
  if (type === null) return value;
  if ('values' in type) return typeof value === 'string' ? fullName(value, type) : value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const field = Object.hasOwn(type.fields, key) ? type.fields[key] : undefined;
      return [key, inFull(inner, field?.resolve().resolvedType ?? null)];
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
