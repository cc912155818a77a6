import { ConfigurationError } from '../../core/configuration-error.js';

export type Environment = Readonly<Record<string, string | undefined>>;

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
const PROTOCOLS = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'];

/**
 * Checks the variables that the exporter would ignore without a message if they are invalid.
 *
 * @throws ConfigurationError for an unsupported protocol, and for an endpoint that is not a URL
 */
export function checkOtlpEnvironment(env: Environment): void {
  const protocol = PROTOCOLS.find((name) => env[name]);
  if (protocol !== undefined && !env[protocol]!.startsWith('http/')) {
    throw new ConfigurationError(
      `${protocol} is ${JSON.stringify(env[protocol])}, but only HTTP is supported`,
      { remedy: `Set it to http/json, and set the endpoint to the collector's HTTP port (usually 4318).` },
    );
  }
  const endpoint = ENDPOINTS.find((name) => env[name]);
  if (endpoint !== undefined && !isHttp(env[endpoint]!)) {
    // The message does not repeat the value, which may contain a password.
    throw new ConfigurationError(`${endpoint} is not an http:// or https:// URL`, {
      remedy: 'Set it to the URL of a collector, such as http://127.0.0.1:4318.',
    });
  }
}

function isHttp(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text);
}
