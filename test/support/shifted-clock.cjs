// Loaded into a process with `--require`: the clock of its machine is so many milliseconds off, its timers are not. So are the
// times of its files, and the `Date` of its responses. SIGUSR2 moves the clock forward by `WORKTRACK_TEST_CLOCK_STEP`
// milliseconds.
const fs = require('node:fs');
const { ServerResponse } = require('node:http');
const { syncBuiltinESMExports } = require('node:module');

let offset = Number(process.env.WORKTRACK_TEST_CLOCK_OFFSET ?? 0);
const RealDate = Date;
globalThis.Date = class Shifted extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [RealDate.now() + offset] : args));
  }
  static now() {
    return RealDate.now() + offset;
  }
};

function shifted(stats) {
  if (stats === undefined) return stats;
  for (const name of ['atime', 'mtime', 'ctime', 'birthtime']) {
    const isBig = typeof stats.size === 'bigint';
    if (isBig) stats[`${name}Ns`] += BigInt(offset) * 1_000_000n;
    stats[`${name}Ms`] += isBig ? BigInt(offset) : offset;
    stats[name] = new RealDate(Number(stats[`${name}Ms`]));
  }
  return stats;
}
const unshifted = (time) => (typeof time === 'number' ? time - offset / 1000 : new RealDate(time - offset));
const { promises } = fs;
for (const name of ['statSync', 'lstatSync', 'fstatSync']) {
  const real = fs[name];
  fs[name] = (...args) => shifted(real(...args));
}
for (const name of ['stat', 'lstat']) {
  const real = promises[name];
  promises[name] = async (...args) => shifted(await real(...args));
}
const { utimesSync } = fs;
fs.utimesSync = (path, accessed, modified) => utimesSync(path, unshifted(accessed), unshifted(modified));
const { utimes, open } = promises;
promises.utimes = (path, accessed, modified) => utimes(path, unshifted(accessed), unshifted(modified));
promises.open = async (...args) => {
  const handle = await open(...args);
  const stat = handle.stat.bind(handle);
  handle.stat = async (options) => shifted(await stat(options));
  return handle;
};
syncBuiltinESMExports();

const { writeHead } = ServerResponse.prototype;
ServerResponse.prototype.writeHead = function (...args) {
  if (this.sendDate && !this.hasHeader('date')) this.setHeader('date', new Date().toUTCString());
  return writeHead.apply(this, args);
};

const step = Number(process.env.WORKTRACK_TEST_CLOCK_STEP ?? 0);
if (step !== 0) {
  process.on('SIGUSR2', () => {
    offset += step;
  });
}
