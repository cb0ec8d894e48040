'use strict';
/* clock: milliseconds that go on while the host sleeps, as the daemon's deadlines do. process.hrtime and timers do not. */

const os = require('node:os');
const { performance } = require('node:perf_hooks');
const { setInterval, setTimeout } = require('node:timers'); // tests may replace the global ones

const monotonicNow = performance.now.bind(performance);

const STILL = 5; // ms between two clocks; after more it reads both again
const TRIES = 10;
let ahead = 0; // of CLOCK_BOOTTIME before the monotonic clock

/**
 * CLOCK_BOOTTIME in ms. It is never later than the true time, and at most 10 ms earlier: the kernel tells /proc/uptime in
 * such steps. The uptime is read first: if this process stands still in between, the difference is too small, not too great.
 * @returns {number}
 */
function boottime() {
  let monotonic = monotonicNow();
  for (let tries = 0, still = true; process.platform === 'linux' && still && tries < TRIES; tries++) {
    const before = monotonic;
    const up = os.uptime() * 1000;
    monotonic = monotonicNow();
    ahead = Math.max(ahead, up - monotonic);
    still = monotonic - before > STILL;
  }
  return monotonic + ahead;
}

/**
 * As boottime(), but for a sleep of the host since that was called last: it is earlier then. It asks nobody, where boottime() opens a file.
 * It is for the moment of a request, as a deadline that counts from an earlier one ends earlier, and for times that nothing hangs on.
 * @returns {number}
 */
function lately() {
  return monotonicNow() + ahead;
}

/**
 * Settles as the promise does, or is rejected with the reason of the signal.
 * @template T
 * @param {Promise<T>} promise
 * @param {AbortSignal} signal
 * @returns {Promise<T>}
 */
function race(promise, signal) {
  promise.catch(() => {}); // nobody may look at it any more when it is rejected
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

boottime(); // for lately()

module.exports = { boottime, lately, race, setInterval, setTimeout };
