import { setTimeout as delay } from 'node:timers/promises';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import type { LakeSettings } from '../../../core/settings.js';
import { CREDENTIALS_LATE } from './s3-answer.js';
import { providers } from './sdk.js';

type Provider = Exclude<S3ClientConfig['credentials'], undefined | { readonly accessKeyId: string }>;

/** Less than a step of `doctor` may take, so that its finding is about the credentials, and not about the store. */
const TIMEOUT_MS = 9_000;

/**
 * The credentials of a connection: those of its role, which the base credentials assume, or those that the AWS SDK finds in the
 * environment, the profile, the container or the instance. Files are read again each time: another program may have written
 * them since.
 *
 * @throws (the provider) CredentialsProviderError with the reason; a search that has not ended after 9 s continues, and the next
 *   request waits for it
 */
export function credentialsOf(lake: LakeSettings): Provider {
  const { profile, role, region } = lake;
  const clientConfig = region === undefined ? {} : { clientConfig: { region } };
  const own = { ...(profile === undefined ? {} : { profile }), ignoreCache: true, ...clientConfig };
  const base = explained(providers().fromNodeProviderChain(own) as Provider, own);
  if (role === undefined) return base;
  return providers().fromTemporaryCredentials({
    masterCredentials: base as never,
    ...clientConfig,
    params: {
      RoleArn: role.arn,
      RoleSessionName: 'temporal-worktrack',
      ...(role.externalId === undefined ? {} : { ExternalId: role.externalId }),
    },
  }) as Provider;
}

/** A provider whose error says why nothing was found: the SDK's own error is that of the last place that it tries. */
function explained(find: Provider, own: { readonly profile?: string }): Provider {
  let search: ReturnType<Provider> | null = null;
  return async (options?: Parameters<Provider>[0]) => {
    search ??= find(options).finally(() => {
      search = null;
    });
    search.catch(() => {});
    const timer = new AbortController();
    const late = delay(TIMEOUT_MS, 'late' as const, { ref: false, signal: timer.signal });
    late.catch(() => {});
    try {
      const found = await Promise.race([search, late]);
      if (found !== 'late') return found;
    } catch (error) {
      throw withReason(error, await reasonOf(own));
    } finally {
      timer.abort();
    }
    const error = failure(`no answer within ${TIMEOUT_MS / 1000} s from ${placeOf(own)}`);
    throw Object.assign(error, { code: CREDENTIALS_LATE });
  };
}

/** Where the SDK looks if no variable holds an access key. */
function placeOf({ profile = process.env.AWS_PROFILE }: { readonly profile?: string | undefined }): string {
  const named = profile === undefined ? 'the default profile' : `the profile ${JSON.stringify(profile)}`;
  return `the credential_process of ${named}, or the metadata service of this machine`;
}

const NOT_FOUND = 'Could not load credentials from any providers';

function withReason(error: unknown, reason: string | null): unknown {
  if (!(error instanceof Error) || error.message !== NOT_FOUND) return error;
  return failure(reason ?? 'no variable, profile, container or instance of this machine has any');
}

function failure(message: string): Error {
  return Object.assign(new Error(message), { name: 'CredentialsProviderError' });
}

/** Why the profile that is set, or the default one, gives no credentials; `null`: there is no such profile, and none is set. */
async function reasonOf(own: { readonly profile?: string }): Promise<string | null> {
  try {
    await providers().fromIni(own as never)();
    return null;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const isUnset = own.profile === undefined && !process.env.AWS_PROFILE;
    return isUnset && message.startsWith('Could not resolve credentials using profile') ? null : message;
  }
}
