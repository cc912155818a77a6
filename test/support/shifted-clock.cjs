// Loaded into a process with `--require`: its clock is so many milliseconds off, its timers are not. SIGUSR2 moves the clock
// forward by `WORKTRACK_TEST_CLOCK_STEP` milliseconds.
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
const step = Number(process.env.WORKTRACK_TEST_CLOCK_STEP ?? 0);
if (step !== 0) {
  process.on('SIGUSR2', () => {
    offset += step;
  });
}
