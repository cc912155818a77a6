import { describe, expect, it } from 'vitest';
import { addNote } from '../../../src/temporal/schedule/schedule.js';

describe('the note of a Schedule', () => {
  it('keeps earlier notes after the new one, newest first, and at most five', () => {
    expect(addNote(undefined, 'audit')).toBe('audit');
    expect(addNote('', 'audit')).toBe('audit');
    expect(addNote('audit', 'outage')).toBe('outage; earlier: audit');
    const many = ['a', 'b', 'c', 'd', 'e', 'f'].reduce((note, next) => addNote(note, next), '');
    expect(many).toBe('f; earlier: e; earlier: d; earlier: c; earlier: b');
  });

  it('has the same note twice in a row only once', () => {
    expect(addNote('audit; earlier: outage', 'audit')).toBe('audit; earlier: outage');
  });
});
