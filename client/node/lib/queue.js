'use strict';
/* queue: those that wait for one name. The front alone waits at the daemon, since a session may wait for a limited number of names, and
 * a crowd of tasks may want one. The next is sent when the front has the lock, or waits no more. */

const { boottime, setTimeout } = require('./clock');

const LONGEST = 2 ** 31 - 1; // ms of a timer

/**
 * @typedef {{ tag: string }} Who has the tag as its owner at the daemon
 * @typedef {{ who: Who, since: number, until: number, go: () => void, watch: () => void }} Place
 * @typedef {{ fronts: Set<Who>, behind: Set<Place> }} Name
 */

class Queue {
  /** @type {Map<string, Name>} */
  #names = new Map();

  /**
   * Waits until it is the front. If `until` (boottime) comes before, it is one, too, and tries once: the daemon knows why it was not
   * its turn. Rejected with the reason of the stop; then it is not in the queue.
   * @param {string} key of the name
   * @param {Who} who
   * @param {boolean} stands else it is a front at once
   * @param {number} until
   * @param {import('./stop').Stop} stop
   * @returns {Promise<number>} until, which may be earlier: see bound()
   */
  async enter(key, who, stands, until, stop) {
    const name = this.#names.get(key) ?? { fronts: new Set(), behind: new Set() };
    this.#names.set(key, name);
    if (!stands || name.fronts.size === 0) {
      name.fronts.add(who);
      return until;
    }
    if (stop.aborted) throw stop.reason;
    return await new Promise((resolve, reject) => {
      /** @type {NodeJS.Timeout | undefined} */
      let timer;
      /** @type {Place} */
      const place = {
        who,
        since: boottime(),
        until,
        go: () => {
          leave();
          name.fronts.add(who);
          resolve(place.until);
        },
        watch: () => {
          clearTimeout(timer);
          const left = Math.max(place.until - boottime(), 0);
          timer = left > LONGEST ? undefined : setTimeout(place.go, left);
        },
      };
      const leave = () => {
        clearTimeout(timer);
        stop.off(abort);
        name.behind.delete(place);
      };
      const abort = () => {
        leave();
        reject(stop.reason);
      };
      stop.on(abort);
      name.behind.add(place);
      place.watch();
    });
  }

  /**
   * A front has the lock, or waits no more.
   * @param {string} key
   * @param {Who} who
   * @param {boolean} all those behind are to ask by themselves, since each has to hear what the front has heard
   */
  leave(key, who, all) {
    const name = /** @type {Name} */ (this.#names.get(key));
    name.fronts.delete(who);
    for (const place of name.behind) {
      if (!all && name.fronts.size > 0) break;
      place.go();
    }
    if (name.fronts.size === 0) this.#names.delete(key);
  }

  /**
   * The place in the queue of the daemon, from 1, with those that stand before it here. Null: it is not known.
   * @param {string} key
   * @param {Who} who
   * @param {Map<string, number>} places in the queue of the daemon, by tag
   */
  place(key, who, places) {
    const name = this.#names.get(key);
    if (!name || name.fronts.has(who)) return places.get(who.tag) ?? null;
    const first = Math.max(0, ...[...name.fronts].map((front) => places.get(front.tag) ?? 0));
    const index = [...name.behind].findIndex((place) => place.who === who);
    return first > 0 && index >= 0 ? first + 1 + index : null;
  }

  /**
   * The daemon's rule for the name bounds a wait without a bound of its own: also those behind.
   * @param {string} key
   * @param {number} wait ms
   */
  bound(key, wait) {
    for (const place of this.#names.get(key)?.behind ?? []) {
      if (place.until !== Infinity) continue;
      place.until = place.since + wait;
      place.watch();
    }
  }
}

module.exports = { Queue };
