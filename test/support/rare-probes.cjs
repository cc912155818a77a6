// A worker that loads this looks at its connection to Temporal once an hour, in place of every ten seconds.
const PROBED_EVERY_MS = 10_000;
const every = globalThis.setInterval;
globalThis.setInterval = (call, ms, ...more) => every(call, ms === PROBED_EVERY_MS ? 3_600_000 : ms, ...more);
