import { describe, expect, it } from 'vitest';
import { DEMO_KEY } from '../../../src/simulator/index.js';
import { call, NOW, page, start } from './support.js';

const bearer = (key: string): RequestInit => ({ headers: { authorization: `Bearer ${key}` } });
const base = { organization: 'acme', grants: ['projects:read'] };
const KEYS = [
  { key: DEMO_KEY, name: 'all', organization: 'acme', grants: ['*'] },
  { ...base, key: 'reader', name: 'reader' },
  { ...base, key: 'brief', name: 'brief', expiresAt: NOW + 1000 },
  { key: 'globex', name: 'globex', organization: 'globex', grants: ['*'] },
];

describe('access', () => {
  it('is refused with 401 without a key, with a wrong one, an expired one and a revoked one', async () => {
    const simulator = await start({ keys: KEYS });
    expect((await call(simulator, 'projects', { headers: { authorization: '' } })).status).toBe(401);
    expect((await call(simulator, 'projects', bearer('wrong'))).status).toBe(401);
    expect((await call(simulator, 'projects', bearer('brief'))).status).toBe(200);
    simulator.admin.advance(1000);
    expect((await call(simulator, 'projects', bearer('brief'))).status).toBe(401);
    simulator.admin.keys.revoke('reader');
    expect((await call(simulator, 'projects', bearer('reader'))).status).toBe(401);
  });

  it('is refused with 403 naming the grant that is missing', async () => {
    const simulator = await start({ keys: KEYS });
    expect((await call(simulator, 'projects', bearer('reader'))).status).toBe(200);
    const response = await call(simulator, 'tasks', bearer('reader'));
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({ message: expect.stringContaining('tasks:read') });
    const write = await call(simulator, 'time-entries', { ...bearer('reader'), method: 'POST', body: '{}' });
    expect(await write.json()).toEqual({ message: expect.stringContaining('time-entries:write') });
  });

  it('is refused with 402, or a configured status, if the plan has no API', async () => {
    const simulator = await start({ withoutApi: ['acme'] });
    expect((await call(simulator, 'projects')).status).toBe(402);
    simulator.admin.configure({ statuses: { badKey: 401, missingGrant: 403, noApiPlan: 451 } });
    expect((await call(simulator, 'projects')).status).toBe(451);
    simulator.admin.keys.setPlan('acme', 'api');
    expect((await call(simulator, 'projects')).status).toBe(200);
  });

  it('shows each organization its own data only', async () => {
    const simulator = await start({ keys: KEYS });
    const mine = (await page(simulator, 'projects')).data[0]?.id;
    expect((await call(simulator, `projects/${mine}`)).status).toBe(200);
    expect((await call(simulator, `projects/${mine}`, bearer('globex'))).status).toBe(404);
    const other = simulator.admin.organization('globex').create('projects', { name: 'theirs' });
    expect((await call(simulator, `projects/${other}`, bearer('globex'))).status).toBe(200);
    expect((await call(simulator, `projects/${other}`)).status).toBe(404);
  });

  it('access by id exists for projects only, unless the option says otherwise', async () => {
    const simulator = await start();
    const id = (await page(simulator, 'tasks')).data[0]?.id;
    expect((await call(simulator, `tasks/${id}`)).status).toBe(404);
    simulator.admin.configure({ fetchById: 'all' });
    expect((await call(simulator, `tasks/${id}`)).status).toBe(200);
  });

  it('answers unknown paths with 404 and a message, and wrong methods with 405', async () => {
    const simulator = await start();
    const response = await call(simulator, 'nonsense');
    expect([response.status, await response.json()]).toEqual([404, { message: expect.any(String) }]);
    expect((await fetch(`${simulator.url}/elsewhere`)).status).toBe(404);
    expect((await call(simulator, 'projects', { method: 'DELETE' })).status).toBe(405);
  });

  it('puts the Authorization header into error messages only if configured', async () => {
    const simulator = await start();
    const message = async (): Promise<string> => (await call(simulator, 'nonsense')).text();
    expect(await message()).not.toContain(DEMO_KEY);
    simulator.admin.configure({ echoAuthorization: true });
    expect(await message()).toContain(DEMO_KEY);
  });
});
