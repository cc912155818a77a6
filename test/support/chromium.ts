import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

/** `$CHROMIUM`, or one that is on the PATH; `null` for none. */
export function findChromium(): string | null {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const folders = (process.env.PATH ?? '').split(delimiter);
  const candidates = ['chromium', 'chromium-browser', 'google-chrome'].flatMap((name) =>
    folders.map((folder) => join(folder, name)),
  );
  return candidates.find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface Screen {
  readonly width: number;
  readonly height: number;
  readonly scheme: 'light' | 'dark';
}

/** A page in a headless browser, spoken to in the Chrome DevTools Protocol over a pipe. */
export interface Page {
  /** Addresses that the page has asked for. */
  readonly requests: string[];
  show(url: string, screen: Screen): Promise<void>;
  evaluate<T>(expression: string): Promise<T>;
  /** PNG of what shows. */
  screenshot(): Promise<Buffer>;
  close(): Promise<void>;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

/** @throws Error when the browser does not start or ends */
export async function openPage(executable: string): Promise<Page> {
  const profile = await mkdtemp(join(tmpdir(), 'worktrack-chromium-'));
  const child = spawn(
    executable,
    [
      ...['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'],
      ...['--disable-background-networking', '--disable-component-update', '--hide-scrollbars'],
      ...[`--user-data-dir=${profile}`, '--remote-debugging-pipe', 'about:blank'],
    ],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
  );
  const ended = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${executable} ended with ${code}`)));
  });
  ended.catch(() => {});
  const talk = talkOver(child);
  const call = (method: string, params: object = {}, sessionId?: string) =>
    Promise.race([talk.call(method, params, sessionId), ended]);
  const { targetInfos } = (await call('Target.getTargets')) as {
    targetInfos: { targetId: string; type: string }[];
  };
  const target = targetInfos.find(({ type }) => type === 'page')!;
  const { sessionId } = (await call('Target.attachToTarget', {
    targetId: target.targetId,
    flatten: true,
  })) as { sessionId: string };
  const inPage = (method: string, params: object = {}) => call(method, params, sessionId);
  const requests: string[] = [];
  talk.on('Network.requestWillBeSent', (params) => requests.push((params.request as { url: string }).url));
  await inPage('Page.enable');
  await inPage('Network.enable');
  return {
    requests,
    async show(url, { width, height, scheme }) {
      await inPage('Emulation.setDeviceMetricsOverride', {
        ...{ width, height, deviceScaleFactor: 1, mobile: width < 600 },
      });
      await inPage('Emulation.setEmulatedMedia', {
        features: [{ name: 'prefers-color-scheme', value: scheme }],
      });
      const loaded = talk.next('Page.loadEventFired');
      await inPage('Page.navigate', { url });
      await Promise.race([loaded, ended]);
    },
    async evaluate<T>(expression: string) {
      const { result } = (await inPage('Runtime.evaluate', { expression, returnByValue: true })) as {
        result: { value: T };
      };
      return result.value;
    },
    async screenshot() {
      const { data } = await inPage('Page.captureScreenshot');
      return Buffer.from(data as string, 'base64');
    },
    async close() {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Messages are JSON, each ended by a zero byte. */
function talkOver(child: ChildProcess) {
  const [, , , input, output] = child.stdio as unknown as [null, null, null, Writable, Readable];
  const waiting = new Map<number, (message: Message) => void>();
  const listeners: { method: string; once: boolean; hear: (params: Record<string, unknown>) => void }[] = [];
  let last = 0;
  let rest = '';
  input.on('error', () => {});
  output.setEncoding('utf8').on('data', (text: string) => {
    const messages = (rest + text).split('\0');
    rest = messages.pop()!;
    for (const message of messages.map((one) => JSON.parse(one) as Message)) {
      if (message.id !== undefined) waiting.get(message.id)?.(message);
      for (const listener of listeners.filter(({ method }) => method === message.method)) {
        if (listener.once) listeners.splice(listeners.indexOf(listener), 1);
        listener.hear(message.params ?? {});
      }
    }
  });
  return {
    call(method: string, params: object, sessionId?: string): Promise<Record<string, unknown>> {
      const id = ++last;
      return new Promise((resolve, reject) => {
        waiting.set(id, ({ result, error }) => {
          waiting.delete(id);
          if (error === undefined) resolve(result ?? {});
          else reject(new Error(`${method}: ${error.message}`));
        });
        input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
      });
    },
    on(method: string, hear: (params: Record<string, unknown>) => void): void {
      listeners.push({ method, once: false, hear });
    },
    next(method: string): Promise<unknown> {
      return new Promise((hear) => listeners.push({ method, once: true, hear }));
    },
  };
}
