import { ConfigurationError } from '../core/configuration-error.js';

export type Environment = Readonly<Record<string, string | undefined>>;

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
const PROTOCOLS = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'];

/**
 * Looks at what the exporter itself would only pass over in silence, to send to where nobody listens.
 *
 * @throws ConfigurationError for a protocol that we do not speak, and for an endpoint that is no URL
 */
export function checkOtlpEnvironment(env: Environment): void {
  const protocol = PROTOCOLS.find((name) => env[name]);
  if (protocol !== undefined && !env[protocol]!.startsWith('http/')) {
    throw new ConfigurationError(
      `${protocol} is ${JSON.stringify(env[protocol])}, but traces are sent over HTTP only`,
      { remedy: `Set it to http/json, and the endpoint to the collector's for HTTP (mostly port 4318).` },
    );
  }
  const endpoint = ENDPOINTS.find((name) => env[name]);
  if (endpoint !== undefined && !isHttp(env[endpoint]!)) {
    // Its value may hold a password.
    throw new ConfigurationError(`${endpoint} is no http:// or https:// URL`, {
      remedy: 'Set it to the address of a collector, such as http://127.0.0.1:4318.',
    });
  }
}

function isHttp(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text);
}
