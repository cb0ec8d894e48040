'use strict';
/* soak: lockers that lock at random, and write down what they asked and were told, in the words of tests/history/HISTORY.md;
 * tests/interop/soak has them judged. Each line is one write, so that a process that is killed leaves all it knew. It ends
 * when its standard input does.
 *
 *   node soak.js PATH LOCKERS AHEAD unix|tcp     each locker writes to PATH.NUMBER; AHEAD is CLOCK_BOOTTIME less
 *                                                CLOCK_MONOTONIC, ns */

const fs = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const hf = require('..');

const [path, lockers, ahead, way] = process.argv.slice(2);
const NAMES = 16;
const FORMS = ['x', 'x', 'x', 's', 'p1/3', 'p2/3'];
// As `open unix` has it, a session ends with its process; over TCP it outlives it by its grace.
const OPENING = [`open ${way}`, 'grace 10000', 'graced', ...(way === 'unix' ? ['bind', 'bound 0'] : [])];
let stop = false;
process.stdin.resume().on('end', () => (stop = true));

const random = (below) => Math.floor(Math.random() * below);

class Locker {
  #file;

  constructor(number) {
    this.#file = fs.openSync(`${path}.${number}`, 'a');
    for (const line of OPENING) this.tell(line);
  }

  /** @param {...unknown} words */
  tell(...words) {
    fs.writeSync(this.#file, `${process.hrtime.bigint() + BigInt(ahead)} ${words.join(' ')}\n`);
  }

  /** A name, and how it is asked for. One of 20 has a signal that ends the wait. */
  #choose() {
    const form = FORMS[random(FORMS.length)];
    const name = `${form[0] === 'p' ? 'permits' : 'name'}${random(NAMES)}`;
    const wait = random(10) === 0 ? 0 : random(10) === 0 ? 5 : 5000;
    const signal = random(20) === 0 ? AbortSignal.timeout(50) : undefined;
    const kind = form === 's' ? { shared: true } : form === 'x' ? {} : { limit: 3, permits: Number(form[1]) };
    this.tell('ask', name, wait, form);
    return { name, options: { wait, signal, ...kind } };
  }

  async run() {
    while (!stop) {
      const { name, options } = this.#choose();
      try {
        await this.#hold(name, await hf.lock(name, options));
      } catch (error) {
        this.#ends('LOCK', name, error);
      }
    }
  }

  async #hold(name, lock) {
    this.tell('grant', name, lock.token, lock.validFor());
    const told = () => this.tell('told', name, lock.token, lock.signal.reason.reason);
    lock.signal.addEventListener('abort', told);
    const chance = random(100);
    if (chance < 25) await sleep(chance === 0 ? 50 : 1);
    if (lock.held) {
      this.tell('check', name);
      this.tell('valid', name, lock.validFor());
    }
    this.tell('unlock', name);
    try {
      await lock.unlock();
      this.tell('unlocked', name, 0);
    } catch (error) {
      this.#ends('UNLOCK', name, error);
    }
  }

  /** Writes down what the request has ended with, other than what was asked for. */
  #ends(verb, name, error) {
    if (error instanceof hf.LockBusyError || error.name === 'TimeoutError') this.tell('null', name);
    else if (error instanceof hf.LockLostError) this.tell('error', verb, 'LOST', error.reason);
    else if (error instanceof hf.LockRefusedError) this.tell('error', verb, error.code);
    else if (error instanceof hf.DaemonUnreachableError) this.tell('end', 'peer');
    else throw error;
  }
}

void Promise.all(Array.from({ length: Number(lockers) }, (_, number) => new Locker(number).run()));
