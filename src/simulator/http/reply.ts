/** A response before it is sent. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Thrown to send an error response (docs/service-api.md#errors). */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** A JSON response from JSON text. */
export function jsonTextReply(status: number, text: string | Buffer): Reply {
  const body = typeof text === 'string' ? Buffer.from(text) : text;
  return { status, headers: { 'content-type': JSON_TYPE }, body };
}

/** An error response: `{"message": ...}`. */
export function errorReply(status: number, message: string): Reply {
  return jsonTextReply(status, JSON.stringify({ message }));
}

/** A response with JSON, unless the headers say otherwise. */
export function replyWith(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: Buffer.from(body) };
}
