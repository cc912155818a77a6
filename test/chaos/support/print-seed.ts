/** Prints the seed before the tests start, so that a run can be repeated even if it hangs. */
export default function printSeed(): void {
  console.log(`Seed: WORKTRACK_SEED=${process.env.WORKTRACK_SEED}`);
}
