import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

interface Locked {
  readonly resolved?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: true;
  readonly dev?: true;
  readonly link?: true;
}

const read = (name: string) => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'));
const { packages } = read('package-lock.json') as { packages: Record<string, Locked> };
const locked = Object.entries(packages).filter(([path]) => path !== '');
const names = (found: readonly (readonly [string, Locked])[]): string[] => found.map(([path]) => path);

describe('the locked dependencies', () => {
  it('are each bound to their bytes', () => {
    expect(locked.length).toBeGreaterThan(100);
    expect(
      names(locked.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))),
    ).toEqual([]);
  });

  it('come from the registry that npm is set to, or from the public one, and from no folder or repository', () => {
    const odd = locked.filter(
      ([, { resolved, link }]) =>
        link === true || (resolved !== undefined && !resolved.startsWith('https://registry.npmjs.org/')),
    );
    expect(names(odd)).toEqual([]);
  });

  it('run nothing of their own when the package is installed', () => {
    const scripted = locked.filter(
      ([, { hasInstallScript, dev }]) => hasInstallScript === true && dev !== true,
    );
    expect(names(scripted)).toEqual([]);
  });

  it('are named by exact versions, and the package runs nothing either', () => {
    const { dependencies, devDependencies, scripts } = read('package.json') as Record<
      string,
      Record<string, string>
    >;
    for (const version of Object.values({ ...dependencies, ...devDependencies }))
      expect(version).toMatch(/^\d+\.\d+\.\d+/);
    for (const script of ['preinstall', 'install', 'postinstall', 'prepare'])
      expect(scripts).not.toHaveProperty(script);
  });
});
