import { afterEach, describe, expect, inject, it } from 'vitest';
import { openStore, toObjectKey } from '../../../src/lake/store/index.js';
import { checkWriteBack } from '../../../src/write-back/check-write-back.js';
import { type Stack, startStack, until } from '../../support/stack.js';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.js';

describe('the input of a write-back in a bucket', () => {
  let stack: Stack;
  let proxy: TcpProxy;
  afterEach(async () => {
    await proxy?.close();
    await stack?.stop();
  });

  it('is closed if it is not valid', async () => {
    stack = await startStack({ s3: true, resources: '[time-entries]' });
    proxy = await startTcpProxy(new URL(inject('servers').s3Endpoint).host);
    await stack.store.write(toObjectKey('in.csv'), Buffer.from('hours\n"1\n'));
    const [connection] = stack.settings.connections;
    const lake = { ...connection!.lake, endpoint: `http://${proxy.address}` };
    const store = openStore(lake);
    const request = { resource: 'time-entries', file: `${lake.url}/in.csv` };
    await expect(checkWriteBack({ ...connection!, lake }, store, request)).rejects.toThrow('unclosed');
    expect(proxy.accepted()).toBeGreaterThan(0);
    store.close();
    await until(() => proxy.open() === 0, 'the sockets are closed');
  });
});
