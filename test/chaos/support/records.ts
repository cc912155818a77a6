import type { World } from './world.js';

/** The JSON texts of what the service holds of a resource. */
export async function recordsOf(world: World, resource: string): Promise<string[]> {
  return (await world.control('GET', `records/${resource}`)).split('\n').filter((line) => line !== '');
}
