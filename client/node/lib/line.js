'use strict';
/* line: the waits of a session that are more than its daemon takes at once, in the order in which they came. */

const { boottime, setTimeout } = require('./clock');

const LONGEST = 2 ** 31 - 1; // ms of a timer

class Line {
  underWay = 0; // LOCKs that are sent and not answered
  past = 0; // those that were, and ended otherwise than by a refusal for the limit
  /** @type {{ turn: number, go: (sent: boolean) => void }[]} */
  #places = [];

  /** Somebody stands in it. */
  get busy() {
    return this.#places.length > 0;
  }

  /**
   * Waits until it is this turn: true. False: `until` (boottime) has come before. Rejected with the reason of the stop.
   * @param {number} turn
   * @param {number} until
   * @param {import('./stop').Stop} stop
   * @returns {Promise<boolean>}
   */
  stand(turn, until, stop) {
    if (stop.aborted) return Promise.reject(stop.reason);
    return new Promise((resolve, reject) => {
      const place = { turn, go: (/** @type {boolean} */ sent) => leave(() => resolve(sent)) };
      const leave = (/** @type {() => void} */ settle) => {
        clearTimeout(timer);
        stop.off(abort);
        this.#places = this.#places.filter((other) => other !== place);
        settle();
      };
      const abort = () => leave(() => reject(stop.reason));
      const left = Math.max(until - boottime(), 0);
      const timer = left > LONGEST ? undefined : setTimeout(() => place.go(false), left);
      stop.on(abort);
      const behind = this.#places.findIndex((other) => other.turn > turn);
      this.#places.splice(behind < 0 ? this.#places.length : behind, 0, place);
    });
  }

  /** A wait of the session has ended. */
  ended() {
    this.underWay--;
    this.past++;
    this.#places[0]?.go(true);
  }
}

module.exports = { Line };
