// Loaded into a process with `--require`: its clock is so many milliseconds off, its timers are not.
const offset = Number(process.env.WORKTRACK_TEST_CLOCK_OFFSET ?? 0);
const RealDate = Date;
globalThis.Date = class Shifted extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [RealDate.now() + offset] : args));
  }
  static now() {
    return RealDate.now() + offset;
  }
};
