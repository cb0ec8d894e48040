'use strict';
/* What a caller gets from a lock, while the daemon does well. */

const assert = require('node:assert/strict');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const vm = require('node:vm');
const { once } = require('node:events');
const { test } = require('node:test');
const { setTimeout: pause } = require('node:timers/promises');
const { inspect } = require('node:util');
const hf = require('..');
const { chooseAddress, parseAddress } = require('../lib/address');
const { boottime, lately } = require('../lib/clock');
const { engineFor } = require('../lib/engine');
const { encode, parse, Push } = require('../lib/wire');
const dispose = Symbol.dispose ?? Symbol.for('Symbol.dispose');
const { HANG, PACKAGE, CALM, aborted, both, nothingLeft, scene, sleep, tell, until } = require('./stage');

both('a lock excludes, has a token, and is given back', CALM, async (stage, ask, where) => {
  const client = new hf.Client(where);
  const lock = await client.lock('a', { wait: HANG, why: 'a test' });
  assert.ok(Number.isSafeInteger(lock.token) && lock.token > 0);
  assert.ok(lock.held && lock.validFor() > 0 && lock.validFor() <= 60000);
  assert.ok(Number.isInteger(lock.validFor()));
  assert.equal(inspect(lock), `Lock { name: 'a', token: ${lock.token}, held: true }`);
  assert.deepEqual([lock.name, lock.names, lock.tokens], ['a', ['a'], [lock.token]]);
  await assert.rejects(
    client.lock('a', { wait: 0 }),
    (error) => error instanceof hf.LockBusyError && error.code === 'BUSY',
  );
  assert.equal(await ask('LOCK', 'a', 'WAIT', '0'), null);
  const first = lock.unlock();
  assert.equal(lock.unlock(), first);
  await first;
  assert.deepEqual([lock.held, lock.validFor(), lock.signal.aborted], [false, 0, false]);
  lock.throwIfLost();
  const next = await client.lock('a');
  assert.ok(next.token > lock.token);
  await next.unlock();
  await nothingLeft(ask);
});

scene('a wait ends in time, and with the right error', CALM, async (stage, ask) => {
  const client = new hf.Client(stage.socket);
  await client.withLock('a', async () => {
    const begun = Date.now();
    const error = await client.lock('a', { wait: 50 }).catch((why) => why);
    assert.ok(
      error instanceof hf.LockTimeoutError && error instanceof hf.LockBusyError && error instanceof hf.HoldfastError,
    );
    assert.deepEqual([error.name, error.code, error.lock], ['LockTimeoutError', 'TIMEOUT', 'a']);
    assert.ok(Date.now() - begun >= 45);
    assert.equal(await ask.waiters('a'), 0);
  });
  await nothingLeft(ask);
});

both('waiters get the lock in the order in which they came', CALM, async (stage, ask, where) => {
  const client = new hf.Client(where);
  const held = await client.lock('a');
  const order = [];
  const all = [];
  for (let i = 0; i < 5; i++) {
    all.push(client.withLock('a', { wait: HANG }, () => order.push(i)));
  }
  await until('one of them waits at the daemon', async () => (await ask.waiters('a')) === 1);
  await held.unlock();
  await Promise.all(all);
  assert.deepEqual(order, [0, 1, 2, 3, 4]);
});

both(
  'those who wait for a name stand in a queue: what becomes of its front reaches those behind it',
  `rules: [ { match: ruled, wait: 500ms } ]\nlimits: { waiters-per-session: 3 }\n${CALM}`,
  async (stage, ask, where) => {
    const client = new hf.Client(where);
    const held = await client.lock('a');
    const stop = new AbortController();
    const order = [];
    const one = (i) => {
      const options = i === 3 ? { wait: 200 } : i === 0 || i === 5 ? { wait: HANG, signal: stop.signal } : { wait: HANG };
      return client.withLock('a', i === 8 ? { ...options, shared: true } : options, () => order.push(i));
    };
    const all = Array.from({ length: 9 }, (_, i) => one(i));
    all[3].catch(() => {}); // it may end before it is awaited
    await until('one of them waits at the daemon', async () => (await ask.waiters('a')) === 1);
    const ends = [assert.rejects(all[0], /enough/), assert.rejects(all[5], /enough/), assert.rejects(all[3], hf.LockTimeoutError)];
    stop.abort(new Error('enough'));
    await Promise.all(ends);
    assert.equal(await ask.waiters('a'), 1);
    await held.unlock();
    await Promise.all([1, 2, 4, 6, 7, 8].map((i) => all[i]));
    assert.deepEqual(order, [1, 2, 4, 6, 7, 8]);
    // Without a wait of its own each waits as long as the rule says, and not one after the other.
    const ruled = await client.lock('ruled');
    const begun = performance.now();
    await Promise.all(Array.from({ length: 20 }, () => assert.rejects(client.lock('ruled'), hf.LockBusyError)));
    const took = performance.now() - begun;
    assert.ok(took > 499 && took < 9500, String(took));
    await ruled.unlock();
    // Two names each: those that wait for the first do not keep the second from who has the first.
    await Promise.all(Array.from({ length: 30 }, () => client.withLockAll(['x', 'y'], { wait: HANG }, () => {})));
    await nothingLeft(ask);
  },
);

both('waits beyond the limit of a session stand in a line', `limits: { waiters-per-session: 2 }\n${CALM}`, async (stage, ask, where) => {
  const client = new hf.Client(where);
  engineFor(parseAddress(where), 0).label = 'crowd';
  for (const lose of [false, true]) {
    const held = await client.lock('a');
    const controller = new AbortController();
    const reason = new Error('enough');
    const order = [];
    const all = [];
    for (let i = 0; i < 10; i++) {
      const owner = `o${i}`; // so it does not stand in the queue of its name
      const options = i === 5 ? { owner, wait: 300 } : i === 6 ? { owner, wait: HANG, signal: controller.signal } : { owner, wait: HANG };
      all.push(client.withLock('a', options, () => order.push(i)));
    }
    await assert.rejects(all[5], hf.LockTimeoutError);
    controller.abort(reason);
    await assert.rejects(all[6], reason);
    await assert.rejects(client.lock('a', { wait: 0 }), hf.HoldfastError);
    if (lose) assert.ok((await stage.cut(ask, 'crowd')) > 0);
    await held.unlock();
    await Promise.all(all.filter((_, i) => i !== 5 && i !== 6));
    assert.deepEqual(order, [0, 1, 2, 3, 4, 7, 8, 9]);
  }
  await nothingLeft(ask);
});

both('an aborted wait ends with the reason, and leaves its place', CALM, async (stage, ask, where) => {
  const client = new hf.Client(where);
  const reason = new Error('enough');
  await assert.rejects(client.lock('a', { signal: AbortSignal.abort(reason) }), reason);
  const held = await client.lock('a');
  const controller = new AbortController();
  const waits = client.lock('a', { signal: controller.signal });
  await until('it waits', async () => (await ask.waiters('a')) === 1);
  controller.abort(reason);
  await assert.rejects(waits, reason);
  assert.equal(await ask.waiters('a'), 0);
  await assert.rejects(client.lock('a', { signal: AbortSignal.timeout(20) }), { name: 'TimeoutError' });
  await held.unlock();
  const later = new AbortController();
  const lock = await client.lock('a', { signal: later.signal });
  later.abort(reason); // it bounds the wait only
  assert.deepEqual([lock.held, lock.signal.aborted], [true, false]);
  await lock.unlock();
  await nothingLeft(ask);
});

scene('a signal that many waits share warns of no leak', CALM, async (stage) => {
  const child = stage.program(`
    const { signal } = new AbortController();
    process.on('warning', (warning) => console.log(warning.name));
    Promise.all(Array.from({ length: 50 }, () => hf.withLock('a', { signal }, () => {}))).then(() => console.log('done'));`);
  assert.equal(await child.next(), 'done');
  assert.deepEqual(await child.ended, [0, null]);
});

scene('withLock gives the result, the error, and the lock back', CALM, async (stage, ask) => {
  const client = new hf.Client(stage.socket);
  assert.equal(await client.withLock('a', (lock) => lock.name), 'a');
  assert.deepEqual(await client.withLockAll(['b', 'a'], { wait: HANG }, async (lock) => lock.names), ['b', 'a']);
  const own = new Error('of the work');
  await assert.rejects(
    client.withLock('a', () => Promise.reject(own)),
    own,
  );
  await assert.rejects(client.withLock('a', { wait: 5 }), TypeError);
  await nothingLeft(ask);
});

scene('a lock is disposed of', CALM, async (stage, ask) => {
  const client = new hf.Client(stage.socket);
  const lock = await client.lock('a');
  await lock[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]();
  assert.equal(lock.held, false);
  const next = await client.lock('a');
  next[dispose]();
  assert.equal(next.held, false);
  await next.unlock();
  const lost = await client.lock('a');
  await ask('BREAK', 'a', 'TOKEN', lost.token);
  await aborted(lost);
  assert.throws(() => lost[dispose](), hf.LockLostError);
  await nothingLeft(ask);
});

scene('the language disposes of a lock, where it can', CALM, async (stage, ask, t) => {
  const text = (keyword) => `(async () => {
    { ${keyword} lock = await hf.lock('a', { wait: ${HANG} }); console.log(lock.held); }
    { ${keyword} both = await hf.lockAll(['a', 'b'], { wait: ${HANG} }); console.log(both.held); }
    console.log('end');
  })()`;
  for (const keyword of ['await using', 'using']) {
    try {
      new vm.Script(text(keyword));
    } catch {
      t.diagnostic(`this Node has no ${keyword}`);
      continue;
    }
    const child = stage.program(text(keyword));
    assert.deepEqual([await child.next(), await child.next(), await child.next()], ['true', 'true', 'end']);
    assert.deepEqual(await child.ended, [0, null]);
    await nothingLeft(ask);
  }
});

scene('readers share, a writer is alone and becomes a reader', CALM, async (stage, ask) => {
  const client = new hf.Client(stage.socket);
  const readers = await Promise.all([1, 2, 3].map(() => client.lock('a', { shared: true })));
  await assert.rejects(client.lock('a', { wait: 0 }), hf.LockBusyError);
  await Promise.all(readers.map((lock) => lock.unlock()));
  const writer = await client.lock('a');
  await assert.rejects(client.lock('a', { shared: true, wait: 0 }), hf.LockBusyError);
  await writer.downgrade();
  const reader = await client.lock('a', { shared: true, wait: HANG });
  assert.ok(writer.held && reader.held);
  await Promise.all([writer.unlock(), reader.unlock()]);
  await nothingLeft(ask);
});

scene('permits are limited, and several are taken at once', CALM, async (stage, ask) => {
  const client = new hf.Client(stage.socket);
  const two = await client.lock('a', { limit: 3, permits: 2 });
  const one = await client.lock('a', { limit: 3 });
  await assert.rejects(client.lock('a', { limit: 3, wait: 0 }), hf.LockBusyError);
  await one.unlock();
  await assert.rejects(client.lock('a', { limit: 3, permits: 2, wait: 0 }), hf.LockBusyError);
  await two.unlock();
  await client.withLock('a', { limit: 3, permits: 3 }, async () => {
    await assert.rejects(
      client.lock('a', { limit: 4, wait: 0 }),
      (error) => error instanceof hf.LockRefusedError && error.code === 'LIMIT',
    );
    await assert.rejects(
      client.lock('a', { wait: 0 }),
      (error) => error instanceof hf.LockRefusedError && error.code === 'WRONGKIND',
    );
  });
  await nothingLeft(ask);
});

both('several locks are taken all or none, in any order of the names', CALM, async (stage, ask, where) => {
  const client = new hf.Client(where);
  const held = await client.lock('b');
  await assert.rejects(client.lockAll(['c', 'b', 'a'], { wait: 30 }), hf.LockTimeoutError);
  await client.withLockAll(['a', 'c'], { wait: 0 }, (lock) => assert.equal(lock.tokens.length, 2));
  await held.unlock();
  let inside = 0;
  await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      client.withLockAll(i % 2 ? ['a', 'b'] : ['b', 'a'], async () => {
        assert.equal(++inside, 1);
        await sleep(0);
        inside--;
      }),
    ),
  );
  await nothingLeft(ask);
});

both('a lease ends by itself, unless it is extended', CALM, async (stage, ask, where) => {
  const client = new hf.Client(where);
  const short = await client.lock('a', { lease: 200 });
  await aborted(short);
  assert.ok(short.signal.reason instanceof hf.LockLostError);
  assert.deepEqual(
    [short.signal.reason.reason, short.signal.reason.token, short.validFor()],
    ['lease', short.token, 0],
  );
  assert.throws(() => short.throwIfLost(), hf.LockLostError);
  await assert.rejects(short.extend(1000), hf.LockLostError);
  await assert.rejects(short.unlock(), hf.LockLostError);
  const long = await client.lock('a', { lease: HANG });
  await long.extend(2 * HANG);
  assert.ok(long.validFor() > 0);
  await long.extend(100);
  await aborted(long);
  await assert.rejects(long.unlock(), { reason: 'lease' });
  const endless = await client.lock('a');
  await assert.rejects(endless.extend(1000), hf.LockRefusedError);
  assert.equal(endless.held, true);
  await endless.unlock();
  const bounded = await client.lock('a', { maxHold: 1000 });
  await aborted(bounded);
  await assert.rejects(bounded.unlock(), { reason: 'maxhold' });
  const still = await client.lock('b', { maxHold: 1000 });
  stage.daemon.kill('SIGSTOP');
  await aborted(still);
  stage.daemon.kill('SIGCONT');
  await assert.rejects(still.unlock(), { reason: 'maxhold' });
  await nothingLeft(ask);
});

both('an owner takes a lock again, also while it waits', CALM, async (stage, ask, where) => {
  const client = new hf.Client(where);
  const held = await client.lock('a', { owner: 'me' });
  const again = await client.lock('a', { owner: 'me', wait: 0 });
  assert.equal(again.token, held.token);
  await assert.rejects(client.lock('a', { owner: 'you', wait: 0 }), hf.LockBusyError);
  const waits = [1, 2].map(() => client.lock('a', { owner: 'you' }));
  await until('one waits', async () => (await ask.waiters('a')) === 1);
  await assert.rejects(client.lock('a', { owner: 'you', wait: 20 }), hf.LockTimeoutError);
  await held.unlock();
  assert.deepEqual([held.held, again.held], [false, true]);
  await again.unlock();
  const [first, second] = await Promise.all(waits);
  assert.equal(first.token, second.token);
  await first.unlock();
  assert.equal(await ask('LOCK', 'a', 'WAIT', '0'), null);
  await second.unlock();
  await nothingLeft(ask);
});

scene('a lock that is broken is told while it works', CALM, async (stage, ask, t) => {
  const client = new hf.Client(stage.socket);
  const took = [];
  for (let i = 0; i < 200; i++) {
    const lock = await client.lock(`a${i}`); // a broken lock is withheld until the announced deadline
    const begun = performance.now();
    const told = once(lock.signal, 'abort');
    await ask('BREAK', lock.name, 'TOKEN', lock.token);
    await told;
    took.push(performance.now() - begun);
    assert.deepEqual([lock.signal.reason.reason, lock.held], ['broken', false]);
    assert.equal(lock.signal.reason.message, `the lock a${i} is lost: an administrator broke it`);
    await assert.rejects(lock.unlock(), hf.LockLostError);
  }
  tell(t, 'BREAK to the abort of the signal', took, 5000);
});

scene('withLock ends with the loss, when the work has ended', CALM, async (stage, ask) => {
  const client = new hf.Client(stage.socket);
  let ended = false;
  const lost = client.withLock('a', async (lock) => {
    await ask('BREAK', lock.name, 'TOKEN', lock.token);
    await aborted(lock);
    await sleep(1);
    ended = true;
  });
  await assert.rejects(lost, (error) => error instanceof hf.LockLostError && error.reason === 'broken');
  assert.equal(ended, true);
  const own = new Error('of the work');
  const failed = client.withLock('b', async (lock) => {
    await ask('BREAK', lock.name, 'TOKEN', lock.token);
    await aborted(lock);
    throw own;
  });
  await assert.rejects(failed, own);
  const slept = client.withLock('e', async (lock) => {
    await ask('BREAK', lock.name, 'TOKEN', lock.token);
    await pause(HANG, null, { signal: lock.signal }); // ends with an AbortError, which says nothing of the lock
  });
  await assert.rejects(slept, (error) => error instanceof hf.LockLostError && error.reason === 'broken');
  const aborts = client.withLock('f', async (lock) => {
    await ask('BREAK', lock.name, 'TOKEN', lock.token);
    await aborted(lock);
    await pause(HANG, null, { signal: AbortSignal.abort(own) }); // of a signal of its own
  });
  await assert.rejects(aborts, (error) => error.name === 'AbortError' && error.cause === own);
  const both = client.withLockAll(['c', 'd'], async (lock) => {
    await ask('BREAK', 'd', 'TOKEN', lock.tokens[1]);
    await aborted(lock);
    assert.equal(lock.held, false);
  });
  await assert.rejects(both, (error) => error instanceof hf.LockLostError && error.lock === 'd');
  assert.equal(typeof (await ask('LOCK', 'c', 'WAIT', '0')), 'number');
});

scene('import and require share one connection', CALM, async (stage, ask) => {
  const child = stage.program(`
    import(${JSON.stringify(path.join(PACKAGE, 'index.mjs'))}).then(async (esm) => {
      const [one, two] = [await hf.lock('a'), await esm.lock('b')];
      console.log(JSON.stringify([esm.Client === hf.Client, Object.keys(esm).sort().join() === Object.keys(hf).sort().join()]));
      process.stdin.resume();
    });`);
  assert.equal(await child.next(), '[true,true]');
  const sessions = (await ask('SESSIONS'))[1].filter((one) => one.includes(child.pid));
  assert.equal(sessions.length, 1);
  child.kill();
});

scene('there is no daemon, or something else answers', CALM, async (stage) => {
  const cases = [
    [`${stage.folder}/none`, /cannot reach holdfastd at unix:.*is it running\?/],
    [`${stage.folder}/redis`, /perhaps Redis: a Redis belongs under masters:/],
  ];
  for (const [where, message] of cases) {
    const client = new hf.Client(where, { connectTimeout: 100 });
    await assert.rejects(
      client.lock('a'),
      (error) => error instanceof hf.DaemonUnreachableError && message.test(error.message),
    );
    await assert.rejects(client.lock('a', { wait: 0 }), hf.DaemonUnreachableError);
    await assert.rejects(client.lock('a'), (error) => error.stack.includes(__filename));
  }
  const silent = net.createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const client = new hf.Client(`127.0.0.1:${silent.address().port}`, { connectTimeout: 100 });
  await assert.rejects(client.lock('a', { wait: 0 }), hf.DaemonUnreachableError);
  await assert.rejects(client.lock('a'), hf.DaemonUnreachableError);
  silent.close();
});

scene('an error says where the address is from', CALM, async (stage) => {
  const text = `new hf.Client(process.argv[1], { connectTimeout: 0 }).lock('a').catch((error) => console.log(error.message));`;
  const own = `${stage.folder}/holdfast/holdfast.sock`;
  const cases = [
    [{ HOLDFAST_URL: '/none/s' }, [], /at unix:\/none\/s \(from HOLDFAST_URL\): .*: is it running\?$/],
    [{ HOLDFAST_URL: 'wrong' }, ['/none/s'], /at unix:\/none\/s: .*: is it running\?$/],
    [{ HOLDFAST_URL: '', XDG_RUNTIME_DIR: stage.folder }, [own], /: is it running\? If it is elsewhere, set HOLDFAST_URL$/],
  ];
  for (const [env, words, message] of cases) {
    assert.match(await stage.program(text, { env, words }).next(), message);
  }
});

scene('the socket in $XDG_RUNTIME_DIR is taken only if root or this user put it there', CALM, async (stage) => {
  const own = path.join(stage.folder, 'holdfast');
  const socket = path.join(own, 'holdfast.sock');
  fs.mkdirSync(own);
  fs.symlinkSync(stage.socket, socket);
  const env = { HOLDFAST_URL: '', XDG_RUNTIME_DIR: stage.folder };
  const text = `new hf.Client(undefined, { connectTimeout: 0 }).withLock('a', () => console.log('held'))
    .catch((error) => console.log(error.message));`;
  // Without a daemon at /run/holdfast the error says why; with one, that one is used.
  const system = fs.existsSync('/run/holdfast/holdfast.sock');
  const says = async (/** @type {RegExp} */ wanted) => {
    const line = await stage.program(text, { env, words: [] }).next();
    if (!system || wanted.source === '^held$') assert.match(line, wanted);
  };
  const before = fs.statSync(stage.folder);
  await says(/^held$/);
  for (const folder of [stage.folder, own]) {
    fs.chmodSync(folder, 0o777);
    await says(/holdfast\.sock is not taken, everybody may write to its directory\. If it is elsewhere, set HOLDFAST_URL$/);
    fs.chmodSync(folder, 0o1777);
    await says(/^held$/);
    fs.chmodSync(folder, before.mode & 0o777);
  }
  if (process.geteuid?.() === 0) {
    for (const [place, fault] of [[stage.folder, /its directory belongs/], [own, /its directory belongs/], [socket, /it belongs/]]) {
      fs.lchownSync(/** @type {string} */ (place), 61999, 61999);
      await says(new RegExp(`is not taken, ${/** @type {RegExp} */ (fault).source} to another user`));
      fs.lchownSync(/** @type {string} */ (place), 0, 0);
    }
  }
});

scene('a client stays at one daemon', CALM, async (stage, ask) => {
  const own = path.join(stage.folder, 'holdfast');
  fs.mkdirSync(own);
  fs.symlinkSync(stage.socket, path.join(own, 'holdfast.sock'));
  const child = stage.program(
    `hf.withLock('a', () => {
      require('node:fs').unlinkSync(${JSON.stringify(path.join(own, 'holdfast.sock'))});
      return hf.withLock('b', (lock) => console.log(lock.token));
    }).catch((error) => console.log(error.message));`,
    { env: { HOLDFAST_URL: '', XDG_RUNTIME_DIR: stage.folder } },
  );
  assert.match(await child.next(), /^\d+$/);
  const early = stage.program(
    `(async () => {
      console.log((await hf.lock('c', { wait: 0 }).catch((error) => error)).code);
      process.env.HOLDFAST_URL = process.argv[1];
      await hf.withLock('c', () => console.log('held'));
    })();`,
    { env: { HOLDFAST_URL: '/none/s' }, words: [stage.socket] },
  );
  assert.deepEqual([await early.next(), await early.next()], ['UNREACHABLE', 'held']); // started before the daemon
  await nothingLeft(ask);
});

scene(
  'a login is sent, and a wrong one is refused',
  `${CALM}users:\n  - { name: app, password-file: FOLDER/password }\n`,
  async (stage) => {
    const right = new hf.Client(`redis://app:pass%20word@${stage.tcp}`);
    await right.withLock('a', { wait: HANG }, () => {});
    const refusals = { [`redis://app:wrong@${stage.tcp}`]: 'WRONGPASS', [stage.tcp]: 'NOAUTH' };
    for (const [where, code] of Object.entries(refusals)) {
      await assert.rejects(
        new hf.Client(where).lock('a'),
        (error) => error instanceof hf.LockRefusedError && error.code === code,
      );
    }
  },
);

scene('the longest waits are waits', CALM, async (stage) => {
  const client = new hf.Client(stage.socket);
  for (const wait of [Infinity, Number.MAX_VALUE, 2 ** 63, 365 * 86_400_000]) {
    await client.withLock('a', { wait }, () => {});
  }
});

test('wrong arguments are refused before anything is sent', async () => {
  const client = new hf.Client('/nowhere');
  for (const options of [
    { timeout: 5 },
    { wait: -1 },
    { wait: NaN },
    { wait: '5' },
    { lease: 0 },
    { limit: 0 },
    { limit: 1.5 },
    { permits: 2 },
    { shared: true, limit: 2 },
    { owner: 'two words' },
    { owner: '' },
  ]) {
    await assert.rejects(
      client.lock('a', options),
      (error) => error instanceof TypeError || error instanceof RangeError,
    );
  }
  await assert.rejects(client.lock('a', { wait: '5' }), /wait: .* not the string '5'$/);
  const shown = new Map([
    [500, '500'],
    [true, 'true'],
    [null, 'null'],
    ['500', "the string '500'"],
    [[500], '[ 500 ]'],
  ]);
  for (const [options, what] of shown) {
    const told = { name: 'TypeError', message: `the options are an object, as { wait: 500 }, not ${what}` };
    await assert.rejects(client.lock('a', options), told);
    await assert.rejects(
      client.withLock('a', options, () => {}),
      told,
    );
    assert.throws(() => new hf.Client('/s', options), /as { grace: 500 }, not/);
  }
  assert.throws(() => new hf.Client('/s', { patience: 1 }), /there is no option patience/);
  const wrong = [
    [[], 'no name is given'],
    [[''], "name: 1 to 512 bytes without spaces and control characters are needed, not ''"],
    [['a', 5], 'name: a string is needed, not 5'],
    [['a', 'a'], "different names are needed, not [ 'a', 'a' ]"],
    ['busy', "names: an array is needed, not the string 'busy'"],
  ];
  await assert.rejects(client.lock('a\ud800'), /^TypeError: name: half a surrogate pair is no UTF-8/);
  for (const [names, message] of wrong) await assert.rejects(client.lockAll(names), { name: 'TypeError', message });
  assert.throws(() => new hf.Client('/s', { grace: -1 }), RangeError);
  const year = 365 * 86_400_000;
  for (const ms of [Infinity, NaN, -1, year + 1, 2 ** 53, 2 ** 63, Number.MAX_VALUE]) {
    for (const key of ['lease', 'maxHold']) {
      const message = `${key}: a time from 1 ms to 365 days is needed, not ${ms}`;
      await assert.rejects(client.lock('a', { [key]: ms }), { name: 'RangeError', message });
    }
    const message = `wait: a time from 0 to 365 days is needed, not ${ms}`;
    if (!(ms > year)) await assert.rejects(client.lock('a', { wait: ms }), { name: 'RangeError', message });
    for (const key of ['grace', 'connectTimeout']) {
      assert.throws(() => new hf.Client('/s', { [key]: ms }), { message: `${key}: a time from 0 to 365 days is needed, not ${ms}` });
    }
  }
});

test('addresses', () => {
  const good = {
    '/a/b': ['/a/b', '', 0, '', '', 'unix:/a/b'],
    'unix:./a': ['./a', '', 0, '', '', 'unix:./a'],
    'unix:///a': ['/a', '', 0, '', '', 'unix:/a'],
    'h:1': ['', 'h', 1, '', '', 'tcp://h:1'],
    'tcp://h': ['', 'h', 5625, '', '', 'tcp://h:5625'],
    'redis://u:p%40@[::1]:7/0': ['', '::1', 7, 'u', 'p@', 'tcp://[::1]:7'],
    'redis://:p@h': ['', 'h', 5625, '', 'p', 'tcp://h:5625'],
    'redis://u:a@b:c@h': ['', 'h', 5625, 'u', 'a@b:c', 'tcp://h:5625'],
  };
  const { HOLDFAST_URL, XDG_RUNTIME_DIR } = process.env;
  process.env.XDG_RUNTIME_DIR = '/nowhere';
  for (const [where, wanted] of Object.entries(good)) {
    const { path: at, host, port, user, password, text } = parseAddress(where);
    assert.deepEqual([at, host, port, user, password, text], wanted, where);
    process.env.HOLDFAST_URL = where;
    assert.deepEqual(chooseAddress(), parseAddress(where));
  }
  delete process.env.HOLDFAST_URL;
  assert.equal(chooseAddress().path, '/run/holdfast/holdfast.sock');
  Object.assign(process.env, { HOLDFAST_URL, XDG_RUNTIME_DIR });
  for (const where of [
    'h',
    'unix:',
    'http://h:1',
    'h:0',
    'h:65536',
    'redis://secret@h',
    'redis://u:p@h/1',
    ':1',
    'redis://u:%secret@h',
  ]) {
    assert.throws(
      () => parseAddress(where),
      (error) => error instanceof TypeError && !error.message.includes('secret'),
      where,
    );
  }
});

test('answers are read wherever they are cut', () => {
  const data = Buffer.from('*3\r\n$3\r\nä\n\r\n:-7\r\n%1\r\n+k\r\n_\r\n>2\r\n+grant\r\n#t\r\n$-1\r\n');
  for (let n = 0; n < data.length; n++) {
    let at = 0;
    const whole = [];
    for (let found; (found = parse(data.subarray(0, n), at)); at = found.end) whole.push(found.value);
    for (let found; (found = parse(data, at)); at = found.end) whole.push(found.value);
    assert.deepEqual(whole, [['ä\n', -7, ['k', null]], new Push(['grant', 1]), null]);
  }
  assert.equal(encode(['LOCK', 'ä']), '*2\r\n$4\r\nLOCK\r\n$2\r\nä\r\n');
  for (const foreign of ['HTTP/1.1 400\r\n', ':a\r\n', '$99999999\r\n', '*99999\r\n', 'x'.repeat(1 << 17)]) {
    assert.throws(() => parse(Buffer.from(foreign), 0), /not holdfastd/);
  }
});

/**
 * What reads /proc/uptime gets what `told` makes of it.
 * @param {import('node:test').TestContext} t
 * @param {(read: () => number) => number} told seconds
 */
function tellUptime(t, told) {
  const { readSync } = fs;
  t.mock.method(fs, 'readSync', (/** @type {number} */ file, /** @type {Buffer} */ bytes, /** @type {any[]} */ ...rest) => {
    if (fs.readlinkSync(`/proc/self/fd/${file}`) !== '/proc/uptime') return readSync(file, bytes, ...rest);
    return bytes.write(`${told(() => parseFloat(bytes.toString('latin1', 0, readSync(file, bytes, ...rest)))).toFixed(2)} 0.00\n`);
  });
}

test('the clock does not run ahead if the process stands still between the two clocks that it is made of', (t) => {
  const standStill = () => {
    for (const end = performance.now() + 60; performance.now() < end;);
  };
  let asked = 0;
  tellUptime(t, (read) => {
    asked++;
    standStill();
    const up = read();
    standStill();
    return up;
  });
  boottime();
  t.mock.restoreAll();
  const now = boottime();
  assert.ok(asked > 0 && now <= os.uptime() * 1000 + 10, `${now} is ahead of the uptime`);
});

test('the clock asks the system where /proc/uptime cannot be read any more', (t) => {
  const { uptime } = os;
  const { readSync } = fs;
  t.mock.method(fs, 'readSync', (...words) => {
    if (words[4] !== 0) return readSync(...words); // Node 18 reads a module by it, and names no position
    throw new Error('EBADF');
  });
  t.mock.method(os, 'uptime', () => uptime() + 1000);
  const clock = require.resolve('../lib/clock');
  const loaded = require.cache[clock];
  delete require.cache[clock];
  const now = require(clock).boottime();
  require.cache[clock] = loaded;
  assert.ok(now >= (uptime() + 990) * 1000, `${now} is what the system says`);
});

scene('a lock asks for the uptime, which is a file, only where a host that slept would be taken for one that did not', CALM, async (stage, ask, t) => {
  const client = new hf.Client(stage.socket);
  let [asked, slept] = [0, 0];
  tellUptime(t, (read) => {
    asked++;
    return read() + slept;
  });
  await client.withLock('a', () => {}); // connects
  asked = 0;
  for (let i = 0; i < 100; i++) await client.withLock('a', () => {});
  assert.ok(asked >= 100 && asked <= 150, `${asked} times for 100 locks`);
  const lock = await client.lock('a');
  slept = 3600; // seconds
  const early = lately();
  assert.equal(lock.held, false);
  assert.ok(lately() - early >= 3590e3 && lately() <= boottime());
  await lock.check(); // the daemon has not slept, and has renewed it
  assert.ok(lock.held);
  slept = 7200;
  const next = await client.lock('b', { wait: HANG });
  assert.ok(next.held);
  await Promise.all([lock.unlock(), next.unlock()]);
  await nothingLeft(ask);
});
