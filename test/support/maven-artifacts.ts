import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MINUTE_MS } from '../../src/core/duration.js';
import { usableHome } from '../../src/servers/install/cache.js';
import { runCommand } from '../../src/servers/run-command.js';
import { cachedFolder } from './cached-folder.js';
import { mavenArgs } from './maven-install.js';

const INSTALL_MS = 20 * MINUTE_MS;

export interface JarsToInstall {
  /** Name of the folder in the cache. */
  readonly name: string;
  /** `group:artifact:version`, each with what it needs at run time. */
  readonly artifacts: readonly string[];
}

/** Finds jars in the cache, or installs them there with Maven. @returns the folder @throws Error with Maven's output */
export function findJars({ name, artifacts }: JarsToInstall): Promise<string> {
  const signal = AbortSignal.timeout(INSTALL_MS);
  return cachedFolder({ name, signal }, async (folder) => {
    const pom = join(folder, 'pom.xml');
    await writeFile(pom, pomOf(artifacts));
    const home = await usableHome(process.env);
    // Spark has its own library of Scala.
    const args = [...mavenArgs(pom, folder, home, folder), '-DexcludeGroupIds=org.scala-lang'];
    await runCommand('mvn', args, { env: process.env, cwd: folder, signal });
    await rm(pom);
  });
}

function pomOf(artifacts: readonly string[]): string {
  const dependencies = artifacts.map((artifact) => {
    const [group, id, version] = artifact.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${id}</artifactId><version>${version}</version></dependency>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>temporal-worktrack</groupId>
  <artifactId>jars</artifactId>
  <version>1</version>
  <dependencies>${dependencies.join('')}</dependencies>
</project>
`;
}

/**
 * Finds the server of Trino in the cache, or installs it there with Maven: only its connectors for files in a lake.
 *
 * @returns the folder with `lib` and `plugin` @throws Error with the output of Maven or tar
 */
export function findTrino(version: string): Promise<string> {
  const signal = AbortSignal.timeout(INSTALL_MS);
  return cachedFolder({ name: `trino-${version}`, signal }, async (folder) => {
    const run = (command: string, ...args: string[]) =>
      runCommand(command, args, { env: process.env, cwd: folder, signal });
    const goal = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy';
    // A separate repository, so that 800 MB do not stay in the user's.
    const repository = join(folder, 'm2');
    const artifact = `-Dartifact=io.trino:trino-server:${version}:tar.gz`;
    const to = [`-DoutputDirectory=${folder}`, `-Dmaven.repo.local=${repository}`];
    await run('mvn', '--batch-mode', '--no-transfer-progress', goal, artifact, ...to);
    const archive = join(folder, `trino-server-${version}.tar.gz`);
    // Files of the connectors that stay are links to files of others, so all are unpacked first.
    await run('tar', 'xzf', archive, '--strip-components=1');
    await run('sh', '-c', 'cd plugin && ls | grep -vx -e hive -e delta-lake | xargs rm -rf');
    await Promise.all([archive, repository].map((path) => rm(path, { recursive: true })));
  });
}
