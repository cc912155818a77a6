import { describe, expect, it } from 'vitest';
import { readOptions } from '../../../src/cli/demo/simulator-command.js';
import { ODD_SERVICES, startSimulator } from '../../../src/simulator/index.js';
import { call, start } from './support.js';

describe('an odd service', () => {
  it('behaves oddly, as often as it says, and then normally', async () => {
    const simulator = await start({ odd: ['limit-403-words'] });
    const statuses = [];
    for (let request = 0; request < 3; request++)
      statuses.push((await call(simulator, 'tasks?limit=5')).status);
    expect(statuses).toEqual([403, 403, 200]);
    expect((await call(simulator, 'tasks?limit=6')).status).toBe(403);
  });

  it('can revoke the key of `worktrack simulator`', async () => {
    const env = { WORKTRACK_SIMULATOR_KEY: 'own' };
    const simulator = await start(readOptions(['--odd', 'key-replaced', '--plain'], env));
    const status = async (): Promise<number> => {
      const headers = { authorization: 'Bearer own' };
      return (await fetch(`${simulator.url}/api/public/v2/projects?limit=1000`, { headers })).status;
    };
    expect([await status(), await status()]).toEqual([200, 401]);
  });

  it('has a separate state in each simulator', async () => {
    for (let one = 0; one < 2; one++) {
      const simulator = await start({ odd: ['limit-402-quota'] });
      expect((await call(simulator, 'tasks')).status).toBe(402);
    }
  });

  it('can be combined with others', async () => {
    const simulator = await start({ odd: ['limit-402-quota', 'plain-403'] });
    expect((await call(simulator, 'tasks')).status).toBe(403);
  });

  it('can have any name that the table has, and an unknown one is answered with the table', async () => {
    await start({ odd: ODD_SERVICES.map(({ name }) => name) });
    await expect(startSimulator({ odd: ['no-such-service'] })).rejects.toThrow(
      /no odd service "no-such-service"[\s\S]*\n {2}plain-403 +answers 403/,
    );
  });
});
