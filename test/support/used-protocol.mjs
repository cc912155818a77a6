import protobuf from 'protobufjs/light.js';

/**
 * The definitions of a protocol that a program uses: its calls, the types in its code, and all types that these contain. What only looks
 * like a call is one too.
 *
 * @param protocol as protobufjs describes it in JSON
 * @param code all of the program, such as `service.listSchedules(…)` or `temporal.api.common.v1.Payload`
 * @returns the same JSON without the other definitions
 */
export function usedProtocol(protocol, code) {
  const root = protobuf.Root.fromJSON(protocol).resolveAll();
  const members = new Set(Array.from(code.matchAll(/\.(\w+)/g), ([, name]) => name));
  const used = new Set();
  const use = (one) => {
    if (one === null || used.has(one)) return;
    used.add(one);
    use(one.parent);
    for (const { resolvedType } of one.fieldsArray ?? []) use(resolvedType);
    for (const method of one.methodsArray ?? []) if (members.has(memberOf(method))) use(method);
    use(one.resolvedRequestType ?? null);
    use(one.resolvedResponseType ?? null);
  };
  const packages = Object.keys(protocol.nested).join('|');
  // A text such as 'temporal.api.common.v1.Payload' is only shown.
  for (const [path] of code.matchAll(new RegExp(`(?<!["'\`\\w])(?:${packages})(?:\\.\\w+)+`, 'g')))
    use(definitionAt(root, path));
  return without(protocol, root, used);
}

/** The name of a call in clients. */
function memberOf({ name }) {
  return name[0].toLowerCase() + name.slice(1);
}

/** The innermost definition on a path. The path may continue, as in `temporal.api.common.v1.Payload.encode`. */
function definitionAt(root, path) {
  let found = root;
  for (const part of path.split('.')) {
    const next = found.nested?.[part];
    if (next === undefined) break;
    found = next;
  }
  return found;
}

function without(json, definition, used) {
  const keep = (list, of) => Object.fromEntries(Object.entries(list).filter(([name]) => used.has(of[name])));
  const { nested, methods } = json;
  return {
    ...json,
    ...(methods && { methods: keep(methods, definition.methods) }),
    ...(nested && {
      nested: Object.fromEntries(
        Object.entries(keep(nested, definition.nested)).map(([name, one]) => [
          name,
          without(one, definition.nested[name], used),
        ]),
      ),
    }),
  };
}
