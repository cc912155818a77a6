// The definitions of Temporal's protocol, without those that no command can use. Creating them takes the largest part of
// the time that Temporal's client takes to load.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/** Features of the client that no command uses, by the names of their calls. */
const UNUSED = /ActivityExecution|ActivityTask|NexusOperation|BuildId|Reachability/;

/**
 * Replaces the definitions by JSON text, which takes a fraction of the time of the same object in code. What stays are the
 * calls that the client or a command makes, the types that code names, and all types that these contain.
 *
 * @param root of the package
 */
export function shortProtocol(root) {
  const fromClient = createRequire(
    createRequire(path.join(root, 'package.json')).resolve('@temporalio/client'),
  );
  const file = fromClient.resolve('@temporalio/proto/protos/json-module.js');
  return {
    name: 'short-protocol',
    load(id) {
      if (id !== file) return null;
      const code = textOf([
        path.join(root, 'dist/src'),
        path.join(root, 'dist/activities'),
        path.dirname(fromClient.resolve('@temporalio/client')),
        path.dirname(fromClient.resolve('@temporalio/common')),
      ]);
      const { nested } = usedBy(code, fromClient(file).toJSON());
      return `const { Root, roots } = require('protobufjs/light');
module.exports = roots.__temporal ??= new Root();
module.exports.addJSON(JSON.parse(${JSON.stringify(JSON.stringify(nested))}));`;
    },
  };
}

/**
 * Returns the part of the protocol that some code uses.
 *
 * @param code JavaScript, such as `service.listSchedules(…)` or `temporal.api.common.v1.Payload`
 * @param protocol as protobufjs describes it in JSON; it loses the rest
 */
export function usedBy(code, protocol) {
  const types = new Map(namedTypes(protocol, ''));
  const calls = new Set([...code.matchAll(/Service\.(\w+)/g)].map(([, name]) => name));
  const services = [...types].filter(([, { methods }]) => methods !== undefined);
  for (const [, { methods }] of services)
    for (const [name, method] of Object.entries(methods)) {
      // The paths of the HTTP gateway.
      delete method.options;
      delete method.parsedOptions;
      if (!calls.has(name[0].toLowerCase() + name.slice(1)) || UNUSED.test(name)) delete methods[name];
    }
  const named = [...code.matchAll(/\b(?:temporal\.api|google)\.[\w.]+/g)].flatMap(([name]) =>
    [...types.keys()].filter((type) => name === type || name.startsWith(`${type}.`)),
  );
  const used = new Set();
  const use = (name) => {
    if (name === null || used.has(name)) return;
    used.add(name);
    const { fields = {}, methods = {} } = types.get(name);
    for (const { type, keyType } of Object.values(fields))
      for (const one of [type, keyType ?? type]) use(resolved(types, one, name));
    for (const { requestType, responseType } of Object.values(methods))
      for (const one of [requestType, responseType]) use(resolved(types, one, name));
  };
  for (const name of [...services.map(([service]) => service), ...named]) use(name);
  removeUnused(protocol, '', used);
  return protocol;
}

/** Messages, enumerations and services with their full names. */
function* namedTypes(namespace, prefix) {
  for (const [name, one] of Object.entries(namespace.nested ?? {})) {
    const full = prefix + name;
    if (one.fields !== undefined || one.values !== undefined || one.methods !== undefined) yield [full, one];
    yield* namedTypes(one, `${full}.`);
  }
}

/** The full name of a type that `scope` mentions, which is relative to any of its namespaces; `null`: a primitive type. */
function resolved(types, name, scope) {
  for (let parts = scope.split('.'); ; parts = parts.slice(0, -1)) {
    const full = [...parts, name].join('.');
    if (types.has(full)) return full;
    if (parts.length === 0) return null;
  }
}

function removeUnused(namespace, prefix, used) {
  for (const [name, one] of Object.entries(namespace.nested ?? {})) {
    const full = prefix + name;
    removeUnused(one, `${full}.`, used);
    if (Object.keys(one.nested ?? {}).length === 0 && !used.has(full)) delete namespace.nested[name];
  }
}

function textOf(folders) {
  return folders
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true })
        .filter((name) => name.endsWith('.js'))
        .map((name) => readFileSync(path.join(folder, name), 'utf8')),
    )
    .join('\n');
}
