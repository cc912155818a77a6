import { join } from 'node:path';
import { type Environment, usableHome } from './cache.js';
import { runCommand } from './command.js';
import { findExecutable, pathFolders } from './executables.js';
import type { InstallContext } from './install-context.js';
import type { ServerSpec } from './kinds.js';

/** A command that `go install` can build. */
interface GoCommand {
  /** Import path without the version. */
  readonly package: string;
  readonly ldflags: string;
  /** Minimum Go version of its `go.mod`, such as `1.25`. */
  readonly needsGo: string;
}

/** The Go package of a server, or null if it is not written in Go. */
export function goCommand(spec: ServerSpec): GoCommand | null {
  switch (spec.kind) {
    case 'temporal':
      return {
        package: 'github.com/temporalio/cli/cmd/temporal',
        // Same as the official builds. Without it, the CLI reports version 0.0.0-DEV.
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

/** The arguments of `go` that build a version of a command. */
export function goInstallArgs(command: GoCommand, version: string): string[] {
  return ['install', '-ldflags', command.ldflags, `${command.package}@v${version}`];
}

/** Whether version `have` is at least `need`, by major and minor number. Accepts `go1.26.8` and `1.25`. */
export function isGoAtLeast(have: string, need: string): boolean {
  const numbers = (text: string) => (/(\d+)\.(\d+)/.exec(text) ?? ['', '0', '0']).slice(1).map(Number);
  const [haveMajor = 0, haveMinor = 0] = numbers(have);
  const [needMajor = 0, needMinor = 0] = numbers(need);
  return haveMajor > needMajor || (haveMajor === needMajor && haveMinor >= needMinor);
}

/**
 * The environment for `go`. Uses the user's module and build caches; without a usable home, caches in the cache folder
 * (writable, so that it can be deleted). Removes GOOS and GOARCH, because Go rejects cross builds with GOBIN.
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
    // `go install path@version` must ignore a workspace in the working directory.
    GOWORK: 'off',
  };
}

/** Builds the server with the installed Go toolchain into `context.target`. */
export async function goInstall(spec: ServerSpec, context: InstallContext): Promise<void> {
  const command = goCommand(spec);
  if (command === null) throw new Error(`${spec.title} is not written in Go`);
  const folders = pathFolders(context.env);
  const go = await findExecutable(
    'go',
    context.env.GOROOT ? [...folders, join(context.env.GOROOT, 'bin')] : folders,
  );
  if (go === null) throw new Error(`\`go\` is not on PATH (Go ${command.needsGo} or newer is required)`);
  context.report('go install');
  const base = goEnvironment(context.env, await usableHome(context.env), context.root);
  const run = (args: readonly string[], env: Environment) =>
    runCommand(go, args, { env, cwd: context.target, signal: context.signal });

  const version = (await run(['env', 'GOVERSION'], { ...base, GOTOOLCHAIN: 'local' })).trim();
  const recent = isGoAtLeast(version, command.needsGo);
  // Go 1.21 and newer download the toolchain that a module requires, unless GOTOOLCHAIN is `local`.
  if (!recent && !isGoAtLeast(version, '1.21')) {
    throw new Error(
      `${go} is ${version}, but Go ${command.needsGo} or newer is required (https://go.dev/dl)`,
    );
  }
  await run(goInstallArgs(command, spec.version), {
    ...base,
    GOBIN: context.target,
    ...(recent ? {} : { GOTOOLCHAIN: 'auto' }),
  });
}
