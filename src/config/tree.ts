import type { z } from 'zod';

/** What the schema makes of a value, or `undefined` where the value is not good. */
export function good<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> | undefined {
  return schema.safeParse(value).data;
}

/** What stands at a path of the raw tree, or `undefined`. */
export function get(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (isMap(at) && Object.hasOwn(at, key) ? at[key] : undefined),
    value,
  );
}

export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
