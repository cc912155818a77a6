import { ConfigurationError } from '../core/configuration-error.js';
import type { ConnectionSettings, ResourceSettings, Settings } from '../core/settings.js';
import { didYouMean } from './suggest.js';

/**
 * The connection of that name; without a name the only one.
 *
 * @throws ConfigurationError that lists the names.
 */
export function selectConnection(settings: Settings, name?: string): ConnectionSettings {
  const names = settings.connections.map((connection) => connection.name);
  const [only] = settings.connections;
  if (name === undefined) {
    if (only && names.length === 1) return only;
    throw new ConfigurationError(`${settings.source} has ${names.length} connections: ${names.join(', ')}`, {
      path: 'connections',
      remedy: 'Say which with --connection.',
    });
  }
  const found = settings.connections.find((connection) => connection.name === name);
  if (found) return found;
  throw new ConfigurationError(
    `${settings.source} has no connection ${JSON.stringify(name)}; it has ${names.join(', ')}.${didYouMean(name, names)}`,
    { path: 'connections', remedy: 'Name one of these with --connection, or add it to the file.' },
  );
}

/**
 * The resources of these names, in the order of the file and each once; without names all of them.
 *
 * @throws ConfigurationError that names every unknown one and lists the known ones.
 */
export function selectResources(
  connection: ConnectionSettings,
  names?: readonly string[],
): readonly ResourceSettings[] {
  if (names === undefined || names.length === 0) return connection.resources;
  const known = connection.resources.map((resource) => resource.name);
  const unknown = [...new Set(names)].filter((name) => !known.includes(name));
  if (unknown.length === 0) return connection.resources.filter((resource) => names.includes(resource.name));
  const asked = unknown.map((name) => JSON.stringify(name)).join(', ');
  const hint = unknown.length === 1 && unknown[0] !== undefined ? didYouMean(unknown[0], known) : '';
  throw new ConfigurationError(
    `connection ${connection.name} has no resource ${asked}; it has ${known.join(', ')}.${hint}`,
    {
      path: `connections.${connection.name}.resources`,
      remedy: 'Name one of these with --resource, or add it to the file: any list endpoint will do.',
    },
  );
}
