/**
 * The package in a CommonJS application, without `import()`. Node.js 20.19 or later loads ES modules by `require`, and
 * TypeScript allows it with `"module": "NodeNext"`. Compiled, this file calls `require('temporal-worktrack')`.
 */
import { parseSettings, selectConnection, VERSION } from 'temporal-worktrack';

const settings = parseSettings(
  'connections: { acme: { baseUrl: "https://tracker.example.com", apiKey: { env: KEY }, lake: { url: "file:///srv/lake" } } }',
  'worktrack.yaml',
);
console.log(VERSION, selectConnection(settings).name);
