import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { Payload } from '@temporalio/common';

/** A failure as the server tells of it. */
type Failure = NonNullable<
  NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number]['lastFailure']
>;

/** What a payload that the SDK did not decode says, through the client's codecs (the last one first) and converter. */
export async function decodePayload<T>(client: Client, payload: Payload): Promise<T> {
  const { payloadCodecs, payloadConverter } = client.options.loadedDataConverter;
  return payloadConverter.fromPayload<T>(await decoded(payloadCodecs, payload));
}

/** The message of a failure; where failures are encoded, it is not in the failure's own field. */
export async function failureMessage(client: Client, failure: Failure): Promise<string> {
  const { encodedAttributes } = failure;
  if (encodedAttributes === null || encodedAttributes === undefined) return failure.message ?? '';
  const { payloadCodecs, payloadConverter, failureConverter } = client.options.loadedDataConverter;
  // Only what makes the message is decoded: details and causes have payloads of their own.
  const alone = {
    message: failure.message ?? null,
    encodedAttributes: await decoded(payloadCodecs, encodedAttributes as Payload),
  };
  return failureConverter.failureToError(alone, payloadConverter).message;
}

async function decoded(
  codecs: Client['options']['loadedDataConverter']['payloadCodecs'],
  payload: Payload,
): Promise<Payload> {
  let payloads = [payload];
  for (const codec of codecs.toReversed()) payloads = await codec.decode(payloads);
  return payloads[0]!;
}
