/** Says before anything is drawn how to draw it again, also where the tests never come to their end. */
export default function printSeed(): void {
  console.log(`Seed: WORKTRACK_SEED=${process.env.WORKTRACK_SEED}`);
}
