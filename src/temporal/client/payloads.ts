import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { Payload } from '@temporalio/common';

/** A failure in the server's format. */
type Failure = NonNullable<
  NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number]['lastFailure']
>;

/** How the error of a codec begins that cannot decode a payload. */
export const UNDECODABLE = 'the data converter cannot decode a payload';

/** Whether a message says that a payload was encoded by another converter, or with another key. */
export function isUndecodable(message: string): boolean {
  // The SDK's own words for a payload that no converter knows.
  return message.includes(UNDECODABLE) || message.includes('Unknown encoding:');
}

/** Decodes a raw payload with the client's codecs (the last one first) and converter. */
export async function decodePayload<T>(client: Client, payload: Payload): Promise<T> {
  const { payloadCodecs, payloadConverter } = client.options.loadedDataConverter;
  return payloadConverter.fromPayload<T>(await decoded(payloadCodecs, payload));
}

/** The message of a failure. If failures are encoded, the message is in the encoded attributes. */
export async function failureMessage(client: Client, failure: Failure): Promise<string> {
  const { encodedAttributes } = failure;
  if (encodedAttributes === null || encodedAttributes === undefined) return failure.message ?? '';
  const { payloadCodecs, payloadConverter, failureConverter } = client.options.loadedDataConverter;
  // Decodes only the message: details and causes have separate payloads.
  const withoutDetails = {
    message: failure.message ?? null,
    encodedAttributes: await decoded(payloadCodecs, encodedAttributes as Payload),
  };
  return failureConverter.failureToError(withoutDetails, payloadConverter).message;
}

async function decoded(
  codecs: Client['options']['loadedDataConverter']['payloadCodecs'],
  payload: Payload,
): Promise<Payload> {
  let payloads = [payload];
  for (const codec of codecs.toReversed()) payloads = await codec.decode(payloads);
  return payloads[0]!;
}
