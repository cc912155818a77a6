import fc from 'fast-check';
import { rounds, SEED } from './seeds.js';

// One seed for all properties; those that name a number of rounds take it from `rounds`, too.
fc.configureGlobal({ seed: SEED, numRuns: rounds(100) });
