'use strict';
/* look: who has a name that is waited for, as the daemon's INSPECT says.
 *
 * A look is one question for all who want to know of a name at a time, and for NEAR ms after its answer. It is about the daemon that was
 * asked; if that knows no holder, a second question goes to the fleet, about a name once in FRESH ms. A daemon that does not answer in time,
 * or does not let this user see, leaves it open. */

const { boottime, setTimeout } = require('./clock');

const PATIENCE = 500; // ms for the answers of a look
const NEAR = 50; // ms for which an answer counts for others, whose timers end a moment later
const FRESH = 1000; // ms for which an answer of the fleet counts
const WAITERS = 64; // places in the queue that a look sees

/** @typedef {import('../index').Holder} Holder */
/** @typedef {{ holder: Holder | null, places: Map<string, number> }} Seen places: in the daemon's queue, by owner */

class Looks {
  /** @type {Map<string, Promise<Seen>>} */
  #looks = new Map();
  /** @type {Map<string, { at: number, holder: Holder | null }>} */
  #fleet = new Map(); // what it said, by name

  /** @param {import('./engine').Engine} engine */
  constructor(engine) {
    this.engine = engine;
  }

  /**
   * Who has the name, and who waits for it. It is settled after PATIENCE at the latest, and never rejected.
   * @param {string} name
   * @returns {Promise<Seen>}
   */
  see(name) {
    const known = this.#looks.get(name);
    if (known) return known;
    /** @type {Seen} */
    const seen = { holder: null, places: new Map() };
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, PATIENCE)));
    const look = Promise.race([this.#look(name, seen).catch(() => {}), late]).then(() => {
      clearTimeout(timer);
      setTimeout(() => this.#looks.delete(name), NEAR).unref();
      return { ...seen };
    });
    this.#looks.set(name, look);
    return look;
  }

  /**
   * @param {string} name
   * @param {Seen} seen
   */
  async #look(name, seen) {
    const { link } = this.engine;
    if (!link) return;
    const fields = mapOf(await link.ask('INSPECT', name, 'COUNT', String(WAITERS)));
    if (fields.size === 0) return;
    for (const waiter of listOf(fields, 'waiters')) seen.places.set(String(waiter.get('owner')), Number(waiter.get('position')));
    seen.holder = holderIn(fields.get('holder'), '');
    if (!seen.holder) seen.holder = await this.#lookAtFleet(link, name);
  }

  /**
   * @param {import('./wire').Link} link
   * @param {string} name
   */
  async #lookAtFleet(link, name) {
    const now = boottime();
    for (const [one, { at }] of this.#fleet) if (now - at >= FRESH) this.#fleet.delete(one);
    const said = this.#fleet.get(name);
    if (said) return said.holder;
    const holder = holderInFleet(mapOf(await link.ask('INSPECT', name, 'FLEET')));
    this.#fleet.set(name, { at: boottime(), holder });
    return holder;
  }
}

/**
 * A map of RESP3. What is none, as an error, is an empty one.
 * @param {unknown} value
 * @returns {Map<string, unknown>}
 */
function mapOf(value) {
  const map = new Map();
  if (Array.isArray(value)) for (let i = 0; i + 1 < value.length; i += 2) map.set(value[i], value[i + 1]);
  return map;
}

/**
 * @param {Map<string, unknown>} fields
 * @param {string} key of an array of maps
 */
function listOf(fields, key) {
  const list = fields.get(key);
  return Array.isArray(list) ? list.map(mapOf) : [];
}

/**
 * @param {unknown} value
 * @param {string} host
 * @returns {Holder | null}
 */
function holderIn(value, host) {
  const fields = mapOf(value);
  const token = Number(fields.get('token') ?? 0);
  if (token === 0) return null;
  return {
    client: String(fields.get('client') ?? ''),
    host,
    address: String(fields.get('address') ?? ''),
    pid: Number(fields.get('pid') ?? 0),
    uid: Number(fields.get('uid') ?? -1),
    token,
    why: String(fields.get('why') ?? ''),
    heldFor: Number(fields.get('held_ms') ?? 0),
    withheld: Boolean(fields.get('withheld')),
  };
}

/**
 * The oldest hold of all daemons; of one that is silent its host alone is known.
 * @param {Map<string, unknown>} fields
 * @returns {Holder | null}
 */
function holderInFleet(fields) {
  /** @type {Holder[]} */
  const holders = [];
  for (const daemon of listOf(fields, 'hosts')) {
    const holder = holderIn(daemon.get('holder'), String(daemon.get('host')));
    if (holder) holders.push(holder);
  }
  holders.sort((a, b) => Number(a.withheld) - Number(b.withheld) || b.heldFor - a.heldFor);
  const [silent] = listOf(fields, 'holders');
  if (holders[0] || !silent) return holders[0] ?? null;
  return { client: '', host: String(silent.get('host')), address: '', pid: 0, uid: -1, token: 0, why: '', heldFor: 0, withheld: false };
}

/**
 * What a holder has to do with a lock, for people.
 * @param {Holder} holder
 */
function sentence({ client, host, address, pid, token, why, heldFor, withheld }) {
  const facts = client && pid ? [`pid ${pid}`] : [];
  if (address !== '' && address !== 'unix') facts.push(address);
  if (host) facts.push(`through the daemon of ${host}`);
  if (why) facts.push(`"${why}"`);
  const who = `${client || (pid ? `pid ${pid}` : 'somebody')}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}`;
  if (withheld) return `${who} had it, and is gone`;
  return token ? `${who} has had it for ${(heldFor / 1000).toFixed(1)}s` : `${who} has it`;
}

module.exports = { Looks, sentence };
