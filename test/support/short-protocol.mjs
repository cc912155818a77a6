// The definitions of Temporal's protocol, without those that no command can use. Creating them takes the largest part of
// the time that Temporal's client takes to load.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/**
 * Replaces the definitions by JSON text, which takes a fraction of the time of the same object in code. Left out are what
 * only workers and Temporal Cloud's administration use, and the calls whose names no module of the client mentions.
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
      const { nested } = fromClient(file).toJSON();
      const mentioned = wordsOf([
        path.join(root, 'dist/src'),
        path.join(root, 'dist/activities'),
        path.dirname(fromClient.resolve('@temporalio/client')),
        path.dirname(fromClient.resolve('@temporalio/common')),
      ]);
      delete nested.coresdk;
      delete nested.temporal.nested.api.nested.cloud;
      shorten(nested.temporal.nested.api.nested.workflowservice.nested.v1.nested, mentioned);
      return `const { Root, roots } = require('protobufjs/light');
module.exports = roots.__temporal ??= new Root();
module.exports.addJSON(JSON.parse(${JSON.stringify(JSON.stringify(nested))}));`;
    },
  };
}

/** Removes the calls that no code uses, with the requests and responses that are of no other use. */
function shorten(types, mentioned) {
  const { WorkflowService: service } = types;
  const unused = new Set();
  for (const [name, method] of Object.entries(service.methods)) {
    // The paths of the HTTP gateway.
    delete method.options;
    delete method.parsedOptions;
    if (mentioned.has(name[0].toLowerCase() + name.slice(1))) continue;
    delete service.methods[name];
    for (const type of [method.requestType, method.responseType]) unused.add(type.split('.').at(-1));
  }
  const others = wordsIn(
    JSON.stringify(
      { ...types, ...Object.fromEntries([...unused].map((name) => [name, null])) },
      (key, value) => (unused.has(key) ? undefined : value),
    ),
  );
  for (const name of unused) if (!others.has(name) && !mentioned.has(name)) delete types[name];
}

function wordsOf(folders) {
  const words = new Set();
  for (const folder of folders)
    for (const name of readdirSync(folder, { recursive: true }).filter((one) => one.endsWith('.js')))
      for (const word of wordsIn(readFileSync(path.join(folder, name), 'utf8'))) words.add(word);
  return words;
}

function wordsIn(text) {
  return new Set(text.match(/\w+/g));
}
