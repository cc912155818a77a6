import { ConfigurationError } from '../core/errors.js';
import type { ConnectionSettings, ResourceSettings, Settings } from '../core/settings.js';
import { didYouMean } from '../core/suggest.js';

/**
 * The connection with this name; without a name, the only connection.
 *
 * @throws ConfigurationError that lists all names.
 * @example
 * const connection = selectConnection(settings, 'acme');
 * const store = openStore(connection.lake);
 */
export function selectConnection(settings: Settings, name?: string): ConnectionSettings {
  const names = settings.connections.map((connection) => connection.name);
  const [only] = settings.connections;
  if (name === undefined) {
    if (only && names.length === 1) return only;
    throw new ConfigurationError(`${settings.source} has ${names.length} connections: ${names.join(', ')}`, {
      path: 'connections',
      remedy: 'Choose one with --connection.',
    });
  }
  const found = settings.connections.find((connection) => connection.name === name);
  if (found) return found;
  throw new ConfigurationError(
    `${settings.source} has no connection ${JSON.stringify(name)}; it has ${names.join(', ')}.${didYouMean(name, names)}`,
    { path: 'connections', remedy: 'Choose one of these with --connection, or add it to the file.' },
  );
}

/**
 * The resources with these names, each once and in the order of the file; without names, all resources.
 *
 * @throws ConfigurationError that lists the unknown and the known names.
 */
export function selectResources(
  connection: ConnectionSettings,
  names?: readonly string[],
): readonly ResourceSettings[] {
  if (names === undefined || names.length === 0) return connection.resources;
  const known = connection.resources.map((resource) => resource.name);
  const unknown = [...new Set(names)].filter((name) => !known.includes(name));
  if (unknown.length === 0) return connection.resources.filter((resource) => names.includes(resource.name));
  const listed = unknown.map((name) => JSON.stringify(name)).join(', ');
  const hint = unknown.length === 1 && unknown[0] !== undefined ? didYouMean(unknown[0], known) : '';
  throw new ConfigurationError(
    `connection ${connection.name} has no resource ${listed}; it has ${known.join(', ')}.${hint}`,
    {
      path: `connections.${connection.name}.resources`,
      remedy: 'Choose one of these, or add the resource to the file; any list endpoint works.',
    },
  );
}
