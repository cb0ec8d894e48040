'use strict';
/* hold: one name at the daemon, waited for, held, or being given back.
 *
 * Its tag is the OWNER and the ASYNC id of its requests, and no other hold has it: so each request can be repeated over
 * a new connection, and a grant whose answer was lost can be given back. */

const { randomBytes } = require('node:crypto');
const { boottime, boottimeAt, lately, monotonic, race, setTimeout } = require('./clock');
const { DaemonUnreachableError, LockBusyError, LockLostError, LockRefusedError, LockTimeoutError } = require('./errors');
const { heard, tell } = require('./events');
const { Stop } = require('./stop');
const { Cut } = require('./wire');

const EARLY = 20; // ms before the announced deadline at which a holder that cannot ask has lost the lock
const LATE = 1000; // ms for an answer, if this process itself stood still until the deadline
const STALL = 100; // ms by which a timer is late if the process stood still
const CHECK_MIN = 10;
const CHECK_MAX = 5000;
const RETRY = 200; // ms until a LOCK is sent again to a daemon that ends
const GIVE_BACK = 5000; // ms for which unlock() waits for the daemon
const UNTOLD = 'VALIDITY and ASYNC exclude each other'; // an older daemon, which pushes no time
const NOTICE = 1000; // ms after which a wait lasts
const NOTICES = 5000; // ms between later times at which it is told

const prefix = randomBytes(6).toString('hex');
let serial = 0;
let turns = 0;

/**
 * How a lock is taken: `words` of LOCK, and the time in ms for which the daemon may be away.
 * @typedef {{ words: string[], owner?: string, wait?: number, lease?: number, maxHold?: number, patience: number,
 *   onWait?: (info: import('../index').Waiting) => void }} Terms
 */

/**
 * Who uses a hold: several do if the lock was taken again by its owner.
 * @typedef {{ lose: (loss: LockLostError, hold: Hold) => void }} User
 */

class Hold {
  token = 0; // 0: not granted
  until = 0; // announced deadline, boottime
  /** @type {LockLostError | null} */
  lost = null;
  over = false; // lost, or given back, or never granted
  /** @type {Set<User>} */
  users = new Set();
  /** @type {Promise<void>} */
  settled; // granted, or over
  #settle = () => {};
  #sent = 0; // when LOCK was sent last: the grant tells a time from then on
  #asked = 0; // when the request was sent that told the deadline
  #granted = 0;
  #checkAt = 0;
  #checking = false;
  #reprieve = 0; // until then the daemon may answer, although the deadline has passed
  /** @type {((value: import('./wire').Value) => void) | null} */
  #resolve = null; // of the outcome of LOCK
  /** @type {((why: Cut) => void) | null} */
  #reject = null;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #dueAt = 0; // of the timer
  #turn = ++turns; // its place in the line
  #since;

  /**
   * @param {import('./engine').Engine} engine
   * @param {string} name
   * @param {Terms} terms
   */
  constructor(engine, name, terms) {
    this.engine = engine;
    this.name = name;
    this.terms = terms;
    this.#since = engine.link ? lately() : boottime(); // from then on the daemon may be away
    this.tag = `${terms.owner ?? 'node'}#${prefix}-${(++serial).toString(36)}`;
    this.key = terms.owner === undefined ? null : JSON.stringify([name, terms.owner]);
    this.settled = new Promise((resolve) => (this.#settle = resolve));
    engine.enter(this);
    if (this.key !== null) engine.owned.set(this.key, this);
  }

  // --- waiting ---

  /**
   * Waits for the lock until `until` (boottime), or until the stop is aborted. Afterwards it is held, or nothing is left.
   * @param {number} until
   * @param {import('./stop').Stop} stop
   */
  async acquire(until, stop) {
    const clean = { is: true };
    const waits = this.terms.onWait || heard('wait') ? new Stop() : null;
    if (waits) this.#notify(waits);
    try {
      while (!(await this.#ask(until, stop, clean)));
    } catch (error) {
      this.#finish();
      if (clean.is) this.engine.forget(this);
      else if (error instanceof DaemonUnreachableError) void this.#giveBack(); // who has not answered need not be waited for
      else await this.#giveBack();
      throw error;
    } finally {
      waits?.abort(null);
      this.#settle();
    }
  }

  /**
   * Asks for the lock once, again if the connection is cut. False: it was granted, and lost before it was known.
   * @param {number} until
   * @param {import('./stop').Stop} stop
   * @param {{ is: boolean }} clean whether nothing is left at the daemon
   */
  async #ask(until, stop, clean) {
    const value = await this.#inQueue(until, stop, clean);
    if (typeof value === 'number' || Array.isArray(value)) {
      clean.is = false;
      const [token, ms] = /** @type {number[]} */ (Array.isArray(value) ? value : [value]);
      this.token = Number(token);
      this.#granted = boottime();
      if (ms !== undefined && this.#granted < this.#sent + ms / 3) {
        this.told(this.#sent, ms, this.#granted);
        return true;
      }
      let sent, left, now;
      // Again, if this process stood still until the deadline that it was told.
      do {
        sent = lately();
        left = await race(this.engine.do('CHECK', this.name, 'OWNER', this.tag), stop);
        now = boottime();
      } while (typeof left === 'number' && now >= sent + left);
      if (typeof left !== 'number') {
        this.token = 0;
        return false;
      }
      this.told(sent, left, now);
      return true;
    }
    if (value instanceof LockRefusedError) throw value;
    const { wait } = this.terms;
    const ours = this.engine.ours(this.name);
    if (wait === 0) throw new LockBusyError(this.name, null, ours);
    const { holder } = await this.engine.looks.see(this.name);
    throw wait ? new LockTimeoutError(this.name, wait, holder, ours) : new LockBusyError(this.name, holder, ours);
  }

  /** For how many ms it is held; null: it is not. */
  get age() {
    return this.over || this.users.size === 0 || this.#granted === 0 ? null : boottime() - this.#granted;
  }

  /** The key of its queue. */
  get #place() {
    const { words } = this.terms;
    return `${words[0] === 'LIMIT' ? words[1] : ''} ${this.name}`;
  }

  /**
   * Tells who waits that the wait lasts, until the stop is aborted.
   * @param {import('./stop').Stop} stop
   */
  #notify(stop) {
    const notice = async () => {
      timer = setTimeout(notice, NOTICES);
      const { holder, places } = await this.engine.looks.see(this.name);
      if (stop.aborted) return;
      const position = this.engine.queue.place(this.#place, this, places);
      const info = { name: this.name, holder, position, waited: Math.round(boottime() - this.#since) };
      tell('wait', info);
      this.terms.onWait?.(info);
    };
    let timer = setTimeout(notice, NOTICE);
    stop.on(() => clearTimeout(timer));
  }

  /**
   * Sends LOCK when it is the front of those that wait for the name. A hold with an owner of the caller's own stands for itself: the
   * daemon sees whether it would wait for itself.
   * @param {number} until
   * @param {import('./stop').Stop} stop
   * @param {{ is: boolean }} clean
   * @returns {Promise<import('./wire').Value>}
   */
  async #inQueue(until, stop, clean) {
    const { queue } = this.engine;
    const { wait, owner } = this.terms;
    const key = this.#place;
    const end = await queue.enter(key, this, wait !== 0 && owner === undefined, until, stop);
    const asked = lately();
    /** @type {unknown} */
    let outcome;
    try {
      const value = await this.#inTurn(end, stop, clean);
      if (value === null && end === Infinity) queue.bound(key, lately() - asked);
      outcome = value;
      return value;
    } catch (error) {
      outcome = error;
      throw error;
    } finally {
      queue.leave(key, this, outcome instanceof LockRefusedError || outcome instanceof DaemonUnreachableError);
    }
  }

  /**
   * Sends LOCK when it is its turn: a session waits a limited number of times. What is refused for that stands in the line,
   * and so does each later LOCK that may wait; when a wait ends, the first in the line is sent.
   * @param {number} until
   * @param {import('./stop').Stop} stop
   * @param {{ is: boolean }} clean
   * @returns {Promise<import('./wire').Value>}
   */
  async #inTurn(until, stop, clean) {
    const { line } = this.engine;
    const waits = this.terms.wait !== 0;
    if (waits && line.busy && !(await line.stand(this.#turn, until, stop))) return null;
    for (;;) {
      const { past } = line;
      let value;
      line.underWay++;
      try {
        value = await this.#lock(until, stop, clean);
      } catch (error) {
        line.ended();
        throw error;
      }
      const full = value instanceof LockRefusedError && value.code === 'LIMIT' && value.text.startsWith('waiters-per-session');
      const last = line.underWay === 1;
      if (!waits || !full || (last && line.past === past)) {
        line.ended();
        return value;
      }
      line.underWay--;
      if (last) continue; // a wait has ended while the refusal was under way
      if (!(await line.stand(this.#turn, until, stop))) return null;
    }
  }

  /**
   * Sends LOCK, again over each new connection, where it has its old place in the queue, and again to a daemon that ends.
   * @param {number} until
   * @param {import('./stop').Stop} stop
   * @param {{ is: boolean }} clean
   * @returns {Promise<import('./wire').Value>}
   */
  async #lock(until, stop, clean) {
    // Who has looked for the daemon behind another one has done so as long.
    let patient = Math.min(until, (this.engine.link ? lately() : this.#since) + this.terms.patience);
    for (;;) {
      const link = (!stop.aborted && this.engine.link) || (await race(this.engine.connected(patient), stop));
      /** @type {Promise<import('./wire').Value>} */
      const outcome = new Promise((resolve, reject) => {
        this.#resolve = resolve;
        this.#reject = reject;
      });
      outcome.catch(() => {});
      const wasClean = clean.is;
      clean.is = false;
      try {
        let value = await race(link.ask(...this.#request(link, until)), stop);
        if (value === 'QUEUED') value = await race(outcome, stop);
        clean.is = wasClean;
        if (value instanceof LockRefusedError && value.text.startsWith(UNTOLD)) {
          link.tells = false;
          continue;
        }
        if (!this.#comesBack(value, wasClean) || boottime() >= patient) return value;
        await race(new Promise((resolve) => setTimeout(resolve, RETRY)), stop);
      } catch (error) {
        if (!(error instanceof Cut)) throw error;
        patient = Math.min(until, boottime() + this.terms.patience);
      } finally {
        this.#resolve = this.#reject = null;
      }
    }
  }

  /**
   * Whether a later LOCK may be answered otherwise: the daemon ends, and another begins; or it has not noticed yet that
   * the old connection is gone, whose LOCK has this id; or it tells the loss of a grant that was never known here.
   * @param {import('./wire').Value} value
   * @param {boolean} first
   */
  #comesBack(value, first) {
    return (
      value instanceof LockRefusedError && (/^(DRAINING|LOST)$/.test(value.code) || (value.code === 'ERR' && !first))
    );
  }

  /**
   * @param {import('./wire').Link} link
   * @param {number} until
   */
  #request(link, until) {
    const words = ['LOCK', this.name, ...this.terms.words, 'OWNER', this.tag, 'ASYNC', this.tag];
    if (link.tells) words.push('VALIDITY');
    this.#sent = lately();
    return until === Infinity ? words : [...words, 'WAIT', String(Math.ceil(Math.max(until - lately(), 0)))];
  }

  /**
   * The push that ends the wait.
   * @param {import('./wire').Value} value
   */
  outcome(value) {
    this.#resolve?.(value);
  }

  /** The connection is lost. */
  offline() {
    this.#reject?.(new Cut());
    this.#schedule();
  }

  /** There is a connection again. */
  online() {
    if (this.#held()) this.#check();
  }

  // --- held ---

  /** It was granted, and the daemon has told for how long. */
  get granted() {
    return this.#asked !== 0;
  }

  #held() {
    return this.granted && !this.over;
  }

  /**
   * An answer that tells for how long the hold is good, or that it is not.
   * @param {number} sent when the request was sent, boottime or earlier
   * @param {import('./wire').Value} value
   * @param {number} [now] boottime
   */
  told(sent, value, now = boottime()) {
    if (this.over) return;
    if (typeof value === 'number') {
      if (sent < this.#asked) return;
      this.#asked = sent;
      this.until = sent + value;
      if (this.until > now) this.#reprieve = 0; // else the answer is older than a standstill, and it asks again
      this.#checkAt = sent + Math.min(Math.max(value / 3, CHECK_MIN), CHECK_MAX);
      this.#schedule(now);
    } else if (this.#held()) {
      const loss = this.#lossIn(value);
      if (loss) this.#lose(loss);
    }
  }

  /**
   * @param {import('./wire').Value} value
   * @returns {LockLostError | null}
   */
  #lossIn(value) {
    if (value instanceof LockRefusedError && value.code === 'LOST') {
      const [reason = '', text = reason] = value.text.split(/ (.*)/s);
      return this.#loss(reason, text);
    }
    if (value !== null && !(value instanceof LockRefusedError && value.code === 'NOTHELD')) return null;
    return this.#loss(
      'session',
      'the daemon does not know of it any more: it was stopped, it lost its state, or the connection was cut for too long',
    );
  }

  /**
   * @param {string} reason
   * @param {string} text
   */
  #loss(reason, text) {
    return new LockLostError(this.name, this.token, reason, text);
  }

  #check() {
    const link = this.engine.link;
    if (!link || this.#checking) return;
    const sent = boottime();
    this.#checking = true;
    link.ask('CHECK', this.name, 'OWNER', this.tag).then(
      (value) => {
        this.#checking = false;
        this.told(sent, value);
      },
      () => {
        this.#checking = false;
        this.#schedule();
      },
    );
  }

  /** When the lock counts as lost, unless the daemon tells another deadline before. */
  #end() {
    return Math.max(this.until - Math.min(EARLY, (this.until - this.#asked) / 10), this.#reprieve);
  }

  /** @param {number} [at] boottime */
  #schedule(at) {
    clearTimeout(this.#timer);
    if (!this.#held()) return;
    const now = at ?? boottime();
    // What was read after a standstill comes before the timer that is late.
    const stood = this.#dueAt > 0 && now >= this.#dueAt + STALL;
    if (stood && now >= this.#end() && this.#reprieve === 0) this.#reprieve = now + LATE;
    const next = this.#checking || !this.engine.link ? this.#end() : Math.min(this.#checkAt, this.#end());
    const delay = Math.min(Math.max(Math.ceil(next - now), 1), CHECK_MAX);
    this.#dueAt = now + delay;
    this.#timer = setTimeout(() => this.#tick(), delay);
  }

  #tick() {
    const now = boottime();
    if (now >= this.#end()) {
      if (now < this.#dueAt + STALL) return this.#lose(this.#overdue(now));
      // This process stood still. The daemon has kept the lock meanwhile, and its answer will say so.
      this.#reprieve = now + LATE;
      this.#checking = false;
    }
    if (now >= this.#checkAt) this.#check();
    this.#schedule();
  }

  /**
   * Why the announced deadline has passed, as far as it is known here: it is a little earlier than the daemon's own.
   * @param {number} now
   */
  #overdue(now) {
    const { lease, maxHold } = this.terms;
    if (lease !== undefined) return this.#loss('lease', 'its lease is over');
    if (maxHold !== undefined && now - this.#granted > 0.9 * maxHold)
      return this.#loss('maxhold', 'its maxHold is over');
    if (!this.engine.link) return this.#loss('unreachable', 'the daemon was away until the announced deadline');
    if (this.#checking) return this.#loss('unreachable', 'the daemon did not answer until the announced deadline');
    return this.#loss('expired', 'the daemon could not renew it in time');
  }

  /** @param {LockLostError} loss */
  #lose(loss) {
    this.lost = loss;
    this.#finish();
    for (const user of this.users) user.lose(loss, this);
  }

  #finish() {
    this.over = true;
    clearTimeout(this.#timer);
    if (this.key !== null && this.engine.owned.get(this.key) === this) this.engine.owned.delete(this.key);
    this.engine.unwant();
  }

  /**
   * Ms for which the hold is surely good for this user.
   * @param {User} user
   */
  left(user) {
    return this.over || !this.users.has(user) ? 0 : Math.max(this.until - boottime(), 0);
  }

  /**
   * Settles when it is known whether a hold whose announced deadline has passed is lost: this process may have stood still, and the
   * daemon is asked then.
   * @param {User} user
   */
  async decide(user) {
    const until = boottime() + LATE + STALL;
    while (!this.over && this.users.has(user) && this.until <= boottime() && boottime() < until) {
      if (!this.#reprieve) this.#tick();
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  // --- its end ---

  /**
   * Ends the use of the hold, and gives it back if that was the last use. Rejected with LockLostError if it was lost.
   * @param {User} user
   */
  async drop(user) {
    const used = !this.over && this.users.has(user);
    const begun = monotonic();
    this.users.delete(user);
    if (this.users.size > 0) {
      if (this.lost) throw this.lost;
      return;
    }
    if (this.lost) {
      void this.#untilGiven(); // the daemon may have it still
      throw this.lost;
    }
    this.#finish();
    const loss = await this.#giveBack();
    if (loss) throw loss;
    if (loss === undefined && !(used && boottimeAt(begun) < this.until))
      throw this.#loss('unreachable', 'the daemon did not answer before the announced deadline');
  }

  /**
   * Ends the wait or the hold at the daemon. Null: it is over. A loss: it had been lost before. Undefined: the daemon has
   * not answered in time; this goes on by itself then.
   */
  #giveBack() {
    /** @type {Promise<LockLostError | null | undefined>} */
    const given = new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, GIVE_BACK, undefined);
      this.#untilGiven().then((loss) => {
        clearTimeout(timer);
        resolve(loss);
      }, reject);
    });
    return given;
  }

  async #untilGiven() {
    let repeated = false; // a request may have been carried out, and its answer lost
    for (;;) {
      try {
        const link = await this.engine.connected(Infinity);
        const loss = await this.#giveBackOver(link, repeated);
        this.engine.forget(this);
        return loss;
      } catch (error) {
        if (error instanceof Cut) repeated = true;
        else await new Promise((resolve) => setTimeout(resolve, RETRY).unref());
      }
    }
  }

  /**
   * @param {import('./wire').Link} link
   * @param {boolean} repeated
   */
  async #giveBackOver(link, repeated) {
    if (this.token === 0) await link.ask('CANCEL', this.tag);
    // A LOCK whose answer was lost, and that was sent again, counts twice. With its token the name of a broken lock passes on at once.
    const which = this.token === 0 ? [] : ['TOKEN', String(this.token)];
    for (let first = true; ; first = false) {
      const value = await link.ask('UNLOCK', this.name, 'OWNER', this.tag, ...which);
      if (typeof value === 'number' && value > 0) continue;
      if (typeof value === 'number' || this.token === 0) return null;
      const forgotten = value instanceof LockRefusedError && value.code === 'NOTHELD';
      return forgotten && (repeated || !first) ? null : this.#lossIn(value);
    }
  }
}

module.exports = { Hold, LATE, STALL };
