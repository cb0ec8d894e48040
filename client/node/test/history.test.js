'use strict';
/* The judge of history.js finds what it has to find. */

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { judge } = require('./history');

const lines = (text) =>
  text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(' '));
const GOOD = 'held 0 5 100\nwrote 0 5 110 1\nover 0 5 120';

test('the judge accepts turns, kills and losses', () => {
  assert.deepEqual(judge([lines(GOOD), lines('held 0 7 120\nwrote 0 7 130 2\nover 0 7 140')], 0), {
    holds: 2,
    writes: 2,
  });
  // Killed at 110, behind a write that it has not recorded.
  assert.deepEqual(judge([lines('held 0 5 100\nheld 1 6 110'), lines('held 0 7 115\nwrote 0 7 130 2')], 1), {
    holds: 3,
    writes: 1,
  });
});

test('the judge finds overlaps, tokens that do not grow, and lost counts', () => {
  const bad = {
    'begins before': [GOOD, 'held 0 7 119\nover 0 7 140'],
    'begins before 5 is over': [GOOD, 'held 0 7 50\nover 0 7 60'],
    'two holds': [GOOD, 'held 0 5 130\nover 0 5 140'],
    'written before': [GOOD, 'held 0 7 130\nwrote 0 7 131 1\nover 0 7 140'],
    'written by nobody': [GOOD, 'held 0 7 130\nwrote 0 7 131 3\nover 0 7 140'],
  };
  for (const [message, records] of Object.entries(bad)) {
    assert.throws(
      () => judge(records.map(lines), 0),
      (error) => error.message.includes(message),
      message,
    );
  }
});
