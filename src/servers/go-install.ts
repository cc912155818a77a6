import { join } from 'node:path';
import { type Environment, usableHome } from './cache.js';
import { runCommand } from './command.js';
import { findExecutable, pathFolders } from './executables.js';
import type { InstallContext } from './install-context.js';
import type { ServerSpec } from './kinds.js';

/** A command that `go install` can build. */
export interface GoCommand {
  /** Its import path, without the version. */
  readonly package: string;
  readonly ldflags: string;
  /** The oldest Go, `1.25`, that its `go.mod` accepts. */
  readonly needsGo: string;
}

/** The Go packages of the servers that have one. */
export function goCommand(spec: ServerSpec): GoCommand | null {
  switch (spec.kind) {
    case 'temporal':
      return {
        package: 'github.com/temporalio/cli/cmd/temporal',
        // As the official builds do; without it the CLI calls itself 0.0.0-DEV.
        ldflags: `-s -w -X github.com/temporalio/cli/temporalcli.Version=${spec.version}`,
        needsGo: '1.25',
      };
    case 'versitygw':
      return {
        package: 'github.com/versity/versitygw/cmd/versitygw',
        ldflags: `-s -w -X main.Version=${spec.version}`,
        needsGo: '1.25',
      };
    case 'test-server':
      return null;
  }
}

/** The arguments of `go` that build one version of a command. */
export function goInstallArgs(command: GoCommand, version: string): string[] {
  return ['install', '-ldflags', command.ldflags, `${command.package}@v${version}`];
}

/** Compares `go1.26.8`, `1.25` and the like by major and minor number: is the first at least the second? */
export function isGoAtLeast(have: string, need: string): boolean {
  const numbers = (text: string) => (/(\d+)\.(\d+)/.exec(text) ?? ['', '0', '0']).slice(1).map(Number);
  const [haveMajor = 0, haveMinor = 0] = numbers(have);
  const [needMajor = 0, needMinor = 0] = numbers(need);
  return haveMajor > needMajor || (haveMajor === needMajor && haveMinor >= needMinor);
}

/**
 * The environment for `go`. Module and build caches stay where the user has them; without a usable home they lie in
 * our cache, made writable so that it can be deleted. GOOS and GOARCH go: a cross build is refused with GOBIN set.
 */
export function goEnvironment(env: Environment, home: string | null, root: string): Environment {
  const own = join(root, 'go');
  return {
    ...env,
    ...(home === null
      ? {
          HOME: own,
          GOPATH: env.GOPATH || own,
          GOCACHE: env.GOCACHE || join(own, 'build'),
        }
      : {}),
    GOFLAGS: [env.GOFLAGS, '-modcacherw'].filter(Boolean).join(' '),
    CGO_ENABLED: '0',
    GOOS: undefined,
    GOARCH: undefined,
    // `go install path@version` wants to know nothing of a workspace that it happens to be called in.
    GOWORK: 'off',
  };
}

/** Builds the server with the Go toolchain at hand into `context.target`. */
export async function goInstall(spec: ServerSpec, context: InstallContext): Promise<void> {
  const command = goCommand(spec);
  if (command === null) throw new Error(`${spec.title} is not written in Go`);
  const folders = pathFolders(context.env);
  const go = await findExecutable(
    'go',
    context.env.GOROOT ? [...folders, join(context.env.GOROOT, 'bin')] : folders,
  );
  if (go === null) throw new Error(`there is no \`go\` on PATH (Go ${command.needsGo} or newer is needed)`);
  context.say('go install');
  const base = goEnvironment(context.env, await usableHome(context.env), context.root);
  const run = (args: readonly string[], env: Environment) =>
    runCommand(go, args, { env, cwd: context.target, signal: context.signal });

  const version = (await run(['env', 'GOVERSION'], { ...base, GOTOOLCHAIN: 'local' })).trim();
  const recent = isGoAtLeast(version, command.needsGo);
  // From 1.21 on an older Go fetches the toolchain that a module asks for, unless it is told to stay local.
  if (!recent && !isGoAtLeast(version, '1.21')) {
    throw new Error(`${go} is ${version}; Go ${command.needsGo} or newer is needed (https://go.dev/dl)`);
  }
  await run(goInstallArgs(command, spec.version), {
    ...base,
    GOBIN: context.target,
    ...(recent ? {} : { GOTOOLCHAIN: 'auto' }),
  });
}
