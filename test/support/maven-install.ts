import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '../../src/core/home-folder.js';
import { usableHome } from '../../src/servers/install/cache.js';
import type { BuildInstaller, InstallContext, ServerSpec } from '../../src/servers/install/server-spec.js';
import { findExecutable, pathFolders, runCommand, whyNotExecutable } from '../../src/servers/run-command.js';

const mainClass = 'io.temporal.testserver.TestServer';
const copyGoal = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';

/** A Maven project whose only dependency is the test server. */
export function testServerPom(version: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>temporal-worktrack</groupId>
  <artifactId>servers</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>io.temporal</groupId>
      <artifactId>temporal-test-server</artifactId>
      <version>${version}</version>
    </dependency>
  </dependencies>
</project>
`;
}

/**
 * A script that runs the jars next to it. `exec` gives the server the script's process id. The script finds the jars by
 * its own path, because the folder is renamed after installation. The JVM flags shorten the start at the cost of
 * throughput, which a test server does not need.
 */
export const javaWrapper = `#!/bin/sh
self=$0
[ -L "$self" ] && self=$(readlink -f "$self")
folder=$(cd "$(dirname "$self")" && pwd) || exit 1
exec "\${JAVA_HOME:+$JAVA_HOME/bin/}java" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$folder/jars/*" ${mainClass} "$@"
`;

/** The arguments of `mvn`. Maven ignores HOME, so without a usable home it gets a repository in the cache folder. */
export function mavenArgs(pom: string, jars: string, home: string | null, root: string): string[] {
  return [
    '--batch-mode',
    '--no-transfer-progress',
    '--file',
    pom,
    copyGoal,
    `-DoutputDirectory=${jars}`,
    '-DincludeScope=runtime',
    ...(home === null ? [`-Dmaven.repo.local=${join(root, 'm2')}`] : []),
  ];
}

async function requireJava(env: Environment): Promise<void> {
  if (env.JAVA_HOME) {
    const why = await whyNotExecutable(join(env.JAVA_HOME, 'bin', 'java'));
    if (why !== null) throw new Error(`JAVA_HOME=${env.JAVA_HOME}: bin/java ${why}`);
  } else if ((await findExecutable('java', pathFolders(env))) === null) {
    throw new Error('`java` is not on PATH (Java 11 or newer is required)');
  }
}

/** Installs the test server with Maven. */
export const mavenInstaller: BuildInstaller = {
  source: 'Maven',
  remedy:
    'install Java 11 or newer and Maven 3.6 or newer, allow access to repo.maven.apache.org (or a mirror in settings.xml), and run this again',
  run: mavenInstall,
};

/** Copies the test server's jars with Maven into `context.target` and writes the script next to them. */
async function mavenInstall(spec: ServerSpec, context: InstallContext): Promise<void> {
  await requireJava(context.env);
  const maven = await findExecutable('mvn', pathFolders(context.env));
  if (maven === null) throw new Error('`mvn` is not on PATH (Maven 3.6 or newer is required)');
  context.report('mvn dependency:copy-dependencies');
  const project = join(context.target, 'project');
  const jars = join(context.target, 'jars');
  await mkdir(project);
  try {
    const pom = join(project, 'pom.xml');
    await writeFile(pom, testServerPom(spec.version));
    await runCommand(maven, mavenArgs(pom, jars, await usableHome(context.env), context.root), {
      env: context.env,
      cwd: project,
      signal: context.signal,
    });
  } finally {
    await rm(project, { recursive: true, force: true });
  }
  const executable = join(context.target, spec.command);
  await writeFile(executable, javaWrapper);
  await chmod(executable, 0o755);
}
