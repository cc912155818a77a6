import { describe, expect, it } from 'vitest';
import { needsSeparateModules } from '../../../../src/cli/bundle/separate-modules.js';

describe('the choice between the bundle and separate modules', () => {
  it('takes the bundle for commands that are clients', () => {
    for (const line of [
      '--help',
      'status --json',
      '--config a.yaml export --full',
      'cat tasks',
      'config check',
    ])
      expect(needsSeparateModules(line.split(' '), {}), line).toBe(false);
  });

  it('takes separate modules for commands that run a worker or a service, wherever the name is', () => {
    for (const line of [
      'worker',
      '--config a.yaml worker --health 8081',
      'replay --from-server',
      'demo',
      'simulator --port 0',
      'export --local',
    ])
      expect(needsSeparateModules(line.split(' '), {}), line).toBe(true);
  });

  it("takes separate modules with the user's own, which share the SDK with the command", () => {
    for (const line of ['status --traces', 'status --data-converter a.js', 'status --data-converter=a.js'])
      expect(needsSeparateModules(line.split(' '), {}), line).toBe(true);
    expect(needsSeparateModules(['status'], { WORKTRACK_DATA_CONVERTER: 'a.js' })).toBe(true);
    expect(needsSeparateModules(['status'], { WORKTRACK_DATA_CONVERTER: '' })).toBe(false);
  });
});
