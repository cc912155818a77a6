import { describe, expect, it } from 'vitest';
import { nextSkippedNight } from '../../../src/cli/triggers/schedule-command.js';

const FROM = Date.parse('2026-11-21T00:00:00Z');

describe('a run that a Schedule leaves out', () => {
  it.each([
    ['0 2 * * *', 'Europe/Berlin', '2027-03-28', '02:00'],
    ['30 2 * * *', 'America/New_York', '2027-03-14', '02:30'],
    ['0 0 * * *', 'Africa/Cairo', '2027-04-30', '00:00'],
    ['15  2 * * 1-7', 'Australia/Lord_Howe', '2027-10-03', '02:15'],
  ])('is found for %s in %s', (cron, timezone, date, time) => {
    expect(nextSkippedNight({ cron, timezone }, FROM)).toEqual({ date, time });
  });

  it.each([
    ['0 2 * * *', 'UTC'],
    ['0 2 * * *', 'Asia/Kolkata'],
    ['0 3 * * *', 'Europe/Berlin'],
    ['59 1 * * *', 'Europe/Berlin'],
    ['0 * * * *', 'Europe/Berlin'],
    ['@daily', 'Europe/Berlin'],
    ['45 2 * * *', 'Australia/Lord_Howe'],
  ])('does not exist for %s in %s', (cron, timezone) => {
    expect(nextSkippedNight({ cron, timezone }, FROM)).toBeNull();
  });
});
