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
  it('have an integrity hash each', () => {
    expect(locked.length).toBeGreaterThan(100);
    expect(
      names(locked.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))),
    ).toEqual([]);
  });

  it('come from the configured or the public npm registry, and from no folder or repository', () => {
    const odd = locked.filter(
      ([, { resolved, link }]) =>
        link === true || (resolved !== undefined && !resolved.startsWith('https://registry.npmjs.org/')),
    );
    expect(names(odd)).toEqual([]);
  });

  it('run no install scripts', () => {
    const scripted = locked.filter(
      ([, { hasInstallScript, dev }]) => hasInstallScript === true && dev !== true,
    );
    expect(names(scripted)).toEqual([]);
  });

  it('have exact versions in package.json, which has no install script either', () => {
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
