// Runs the simulated service of `dist` as `worktrack simulator` does. A second port is for the tests, which change records, add
// faults and read statistics there: WORKTRACK_TEST_CONTROL_PORT (default: a free one). Prints both URLs as JSON.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { readOptions, startUntilSignal } from '../../dist/src/cli/demo/simulator-command.js';

const { url, admin } = await startUntilSignal(readOptions(process.argv.slice(2), process.env));
const control = createServer((request, response) => {
  answer(request).then(
    (body) => response.end(body),
    (error) => {
      response.statusCode = 400;
      response.end(String(error));
    },
  );
});
control.listen(Number(process.env.WORKTRACK_TEST_CONTROL_PORT ?? 0), '127.0.0.1');
await once(control, 'listening');
const controlUrl = `http://127.0.0.1:${control.address().port}`;
process.stdout.write(`${JSON.stringify({ url, controlUrl })}\n`);

/** `GET` and `POST` of `/records/<resource>`, `POST /faults` with a rule, `GET /stats`. */
async function answer(request) {
  const { pathname, searchParams } = new URL(request.url, controlUrl);
  const [, area, resource] = pathname.split('/');
  const body = request.method === 'POST' ? JSON.parse(await text(request)) : null;
  switch (`${request.method} ${area}`) {
    case 'GET stats':
      return JSON.stringify(admin.stats());
    case 'POST faults':
      return admin.faults.add(body);
    case 'GET records': {
      const records = admin.records(resource, searchParams.get('scope') ?? 'stored');
      return records.map((record) => `${record}\n`).join('');
    }
    case 'POST records':
      for (const fields of body.create ?? []) admin.create(resource, fields);
      if (body.touch) admin.touch(resource, body.touch);
      admin.remove(resource, body.delete ?? []);
      return '';
    default:
      throw new Error(`unknown: ${request.method} ${pathname}`);
  }
}
