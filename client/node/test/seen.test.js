'use strict';
/* What the package tells of a wait that lasts: who has the lock, and the place in the queue. */

const assert = require('node:assert/strict');
const { AsyncLocalStorage } = require('node:async_hooks');
const { subscribe, unsubscribe } = require('node:diagnostics_channel');
const hf = require('..');
const { parseAddress } = require('../lib/address');
const { engineFor } = require('../lib/engine');
const { Link } = require('../lib/wire');
const { HANG, CALM, both, nothingLeft, scene, until } = require('./stage');

/** A program that has the lock a until its standard input ends. */
async function holding(stage, env = {}) {
  const program = stage.program(
    `hf.lock('a', { why: 'the nightly import' }).then((lock) => {
      console.log('held');
      process.stdin.resume().on('end', () => lock.unlock());
    });`,
    { env },
  );
  assert.equal(await program.next(), 'held');
  return program;
}

async function end(program) {
  program.stdin.end();
  await program.ended;
}

both('the error of a wait that is over names who has the lock, and a try names nobody', CALM, async (stage, ask, where) => {
  const client = new hf.Client(where);
  const program = await holding(stage);
  const error = await client.lock('a', { wait: 100 }).catch((why) => why);
  assert.ok(error instanceof hf.LockTimeoutError);
  const { pid, uid, why, host, withheld, heldFor } = error.holder;
  assert.deepEqual({ pid, uid, why, host, withheld }, { pid: program.pid, uid: process.getuid(), why: 'the nightly import', host: '', withheld: false });
  assert.ok(heldFor >= 50 && heldFor < HANG);
  assert.match(error.message, /^the lock a was not granted within 100 ms: .* \(pid \d+, "the nightly import"\) has had it for \d+\.\ds$/);
  const both = await client.lockAll(['b', 'a'], { wait: 50 }).catch((why) => why);
  assert.deepEqual([both.lock, both.holder.pid], ['a', program.pid]);
  const busy = await client.lock('a', { wait: 0 }).catch((why) => why);
  assert.deepEqual([busy.holder, busy.message], [null, 'the lock a is taken: another locker has it']);
  await end(program);
  const mine = client.lock('a', { owner: 'me' });
  await mine;
  const again = await new hf.Client(where).lock('a', { owner: 'other', wait: 50 }).catch((why) => why);
  assert.equal(again.holder.token, (await mine).token);
  await (await mine).unlock();
  await nothingLeft(ask);
});

scene('a holder at another daemon is named, with the host of that daemon', CALM, async (stage, ask) => {
  const other = await stage.sibling();
  const program = await holding(stage, { HOLDFAST_URL: other });
  const error = await new hf.Client(stage.socket).lock('a', { wait: 300 }).catch((why) => why);
  assert.equal(error.holder?.pid, program.pid, error.message);
  assert.notEqual(error.holder.host, '');
  await end(program);
});

scene(
  'who may not see is told of the timeout without a holder',
  `users: [ { name: app, password-file: FOLDER/password, may: [ lock ] } ]\n${CALM}`,
  async (stage, ask) => {
    const client = new hf.Client(`redis://app:pass%20word@${stage.tcp}`);
    await ask('LOCK', 'a');
    const told = [];
    const error = await client.lock('a', { wait: 1300, onWait: (info) => told.push(info) }).catch((why) => why);
    assert.deepEqual([error.code, error.holder], ['TIMEOUT', null]);
    assert.equal(error.message, 'the lock a was not granted within 1300 ms: another locker has it');
    assert.deepEqual([told[0].holder, told[0].position], [null, null]);
  },
);

both('a wait that lasts is told who has the lock, and its place in the queues', CALM, async (stage, ask, where, t) => {
  const client = new hf.Client(where);
  const program = await holding(stage);
  const told = [];
  let asked = 0;
  const { ask: askDaemon } = Link.prototype;
  t.mock.method(Link.prototype, 'ask', function (...words) {
    if (words[0] === 'INSPECT') asked++;
    return askDaemon.apply(this, words);
  });
  const all = Array.from({ length: 100 }, (_, number) => client.withLock('a', { wait: HANG, onWait: (info) => told.push({ number, ...info }) }, () => {}));
  await until('all are told', () => told.length >= 100);
  told.splice(100);
  told.sort((a, b) => a.number - b.number);
  for (const { number, name, holder, position, waited } of told) {
    assert.deepEqual([name, holder.pid, position], ['a', program.pid, number + 1]);
    assert.ok(waited >= 990 && waited < HANG, String(waited));
  }
  await until('and again', () => told.length >= 200);
  assert.ok(told[150].waited >= 5990);
  assert.ok(asked > 0 && asked <= 40, `${asked} times`); // for 200 notices
  await end(program);
  await Promise.all(all);
  const number = told.length;
  await (await client.lock('a', { onWait: (info) => told.push(info) })).unlock();
  assert.equal(told.length, number);
  await assert.rejects(client.lock('a', { onWait: 5 }), /onWait: a function is needed, not 5/);
  await nothingLeft(ask);
});

scene('a daemon that stands still when a wait ends delays its error by little', CALM, async (stage, ask) => {
  const client = new hf.Client(stage.socket);
  await ask('LOCK', 'a');
  const wait = client.lock('a', { wait: 500 }).catch((why) => why);
  await until('it waits', async () => (await ask.waiters('a')) === 1);
  stage.daemon.kill('SIGSTOP');
  assert.ok((await wait) instanceof hf.DaemonUnreachableError);
  stage.daemon.kill('SIGCONT');
});

both('channels have connections, waits, holds and losses, in the context of who locks', CALM, async (stage, ask, where, t) => {
  const kinds = ['wait', 'hold', 'fail', 'release', 'loss', 'connect', 'cut', 'resume'];
  const events = [];
  const context = new AsyncLocalStorage();
  for (const kind of kinds) {
    const heard = (event) => events.push({ kind, context: context.getStore(), ...event });
    subscribe(`holdfast:${kind}`, heard);
    t.after(() => unsubscribe(`holdfast:${kind}`, heard));
  }
  engineFor(parseAddress(where), 0).label = 'seen';
  const client = new hf.Client(where);
  const next = async (kind) => {
    await until(kind, () => events.some((event) => event.kind === kind));
    return events.splice(0, events.findIndex((event) => event.kind === kind) + 1).at(-1);
  };
  await context.run('a request', async () => {
    const both = await client.lockAll(['a', 'b']);
    assert.match((await next('connect')).address, stage.tcp === where ? /:\d+$/ : /\/s$/);
    const held = [await next('hold'), await next('hold')];
    assert.deepEqual(held.map(({ name, token }) => [name, token]), [['a', both.tokens[0]], ['b', both.tokens[1]]]);
    assert.equal(held[0].context, 'a request');
    const error = await client.lock('a', { wait: 1200 }).catch((why) => why);
    const waits = await next('wait');
    assert.deepEqual([waits.name, waits.holder.token, waits.position, waits.context], ['a', both.token, 1, 'a request']);
    const failed = await next('fail');
    assert.deepEqual([failed.name, failed.error, failed.holder, failed.context], ['a', error, error.holder, 'a request']);
    assert.ok(failed.waited >= 1190 && failed.waited < HANG);
    await both.unlock();
    const ends = [await next('release'), await next('release')];
    assert.deepEqual(ends.map(({ name }) => name).sort(), ['a', 'b']);
    assert.ok(ends.every(({ held: time, context: where_ }) => time >= 1190 && time < HANG && where_ === 'a request'));
  });
  const lock = await client.lock('a');
  await stage.cut(ask, 'seen');
  assert.ok((await next('cut')).error instanceof Error);
  await next('resume');
  await ask('BREAK', 'a', 'TOKEN', lock.token);
  const loss = await next('loss');
  assert.deepEqual([loss.name, loss.token, loss.error.reason, loss.error], ['a', lock.token, 'broken', lock.signal.reason]);
  await assert.rejects(lock.unlock(), hf.LockLostError);
  assert.deepEqual(events, []); // a loss is told once
});
