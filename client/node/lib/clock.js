'use strict';
/* clock: milliseconds that go on while the host sleeps, as the daemon's deadlines do. process.hrtime and timers do not. */

const fs = require('node:fs');
const os = require('node:os');
const { performance } = require('node:perf_hooks');
const { setInterval, setTimeout } = require('node:timers'); // tests may replace the global ones

const monotonic = performance.now.bind(performance);

const STILL = 5; // ms between two clocks; after more it reads both again
const TRIES = 10;
let ahead = 0; // of CLOCK_BOOTTIME before the monotonic clock

const bytes = Buffer.alloc(32);
let file = -1; // /proc/uptime, kept open: to open it costs three times what it costs to read it
try {
  if (process.platform === 'linux') file = fs.openSync('/proc/uptime', 'r');
} catch {
  // os.uptime() knows another way
}

/** Ms since the host began, as os.uptime() tells them in seconds. */
function uptime() {
  if (file >= 0) {
    try {
      const text = bytes.toString('latin1', 0, fs.readSync(file, bytes, 0, bytes.length, 0));
      const seconds = Number(text.slice(0, text.indexOf(' ')));
      if (seconds > 0) return seconds * 1000;
    } catch {
      // somebody has closed it
    }
    file = -1;
  }
  return os.uptime() * 1000;
}

/**
 * CLOCK_BOOTTIME in ms. It is never later than the true time, and at most 10 ms earlier: the kernel tells /proc/uptime in
 * such steps. The uptime is read first: if this process stands still in between, the difference is too small, not too great.
 * @returns {number}
 */
function boottime() {
  let at = monotonic();
  for (let tries = 0, still = true; process.platform === 'linux' && still && tries < TRIES; tries++) {
    const before = at;
    const up = uptime();
    at = monotonic();
    ahead = Math.max(ahead, up - at);
    still = at - before > STILL;
  }
  return at + ahead;
}

/**
 * As boottime(), but for a sleep of the host since that was called last: it is earlier then. It asks nobody, where boottime() reads a file.
 * It is for the moment of a request, as a deadline that counts from an earlier one ends earlier, and for times that nothing hangs on.
 * @returns {number}
 */
function lately() {
  return monotonic() + ahead;
}

/**
 * CLOCK_BOOTTIME of an earlier moment, or later than it was then.
 * @param {number} then of monotonic()
 * @returns {number}
 */
function boottimeAt(then) {
  boottime();
  return then + ahead;
}

/**
 * Settles as the promise does, or is rejected with the reason of the stop.
 * @template T
 * @param {Promise<T>} promise
 * @param {import('./stop').Stop} stop
 * @returns {Promise<T>}
 */
function race(promise, stop) {
  if (stop.aborted) {
    promise.catch(() => {}); // nobody looks at it any more when it is rejected
    return Promise.reject(stop.reason);
  }
  return new Promise((resolve, reject) => {
    const abort = () => reject(stop.reason);
    stop.on(abort);
    promise.then(
      (value) => {
        stop.off(abort);
        resolve(value);
      },
      (why) => {
        stop.off(abort);
        reject(why);
      },
    );
  });
}

boottime(); // for lately()

module.exports = { boottime, boottimeAt, lately, monotonic, race, setInterval, setTimeout };
