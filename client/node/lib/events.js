'use strict';
/* events: what happens to locks and connections, on channels of node:diagnostics_channel: holdfast:wait and so on. */

const { channel } = require('node:diagnostics_channel');

const channels = {
  wait: channel('holdfast:wait'),
  hold: channel('holdfast:hold'),
  fail: channel('holdfast:fail'),
  release: channel('holdfast:release'),
  loss: channel('holdfast:loss'),
  connect: channel('holdfast:connect'),
  cut: channel('holdfast:cut'),
  resume: channel('holdfast:resume'),
};

/**
 * Whether anybody wants to know of it.
 * @param {keyof typeof channels} kind
 */
function heard(kind) {
  return channels[kind].hasSubscribers;
}

/**
 * @param {keyof typeof channels} kind
 * @param {object} event
 */
function tell(kind, event) {
  if (channels[kind].hasSubscribers) channels[kind].publish(event);
}

module.exports = { heard, tell };
