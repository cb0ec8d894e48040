// What a TypeScript program may write, and what the compiler refuses. It is compiled, and not run.
import hf = require('..');

async function right(client: hf.Client, signal: AbortSignal): Promise<number> {
  const onWait = (info: hf.Waiting): void => console.log(info.name, info.holder?.pid, info.position, info.waited);
  const lock: hf.Lock = await client.lock('deploy', { wait: 5000, signal, why: 'a release', onWait });
  const stopped: AbortSignal = lock.signal;
  const left: number = lock.validFor();
  await lock.extend(left);
  await lock[Symbol.asyncDispose]();
  lock[Symbol.dispose]();
  const text: string = await hf.withLock('deploy', (held) => `${held.token}`);
  const many: number[] = await hf.withLockAll(
    ['a', 'b'] as const,
    { limit: 2, permits: 1 },
    async (held) => held.tokens,
  );
  try {
    lock.throwIfLost();
  } catch (error) {
    if (error instanceof hf.LockLostError) return error.token + error.reason.length + error.lock.length;
    if (error instanceof hf.LockRefusedError) return error.code.length + error.text.length;
    if (error instanceof hf.LockBusyError && error.holder) return error.holder.pid + error.holder.host.length;
    if (error instanceof hf.LockBusyError || error instanceof hf.DaemonUnreachableError) return error.code.length;
  }
  return many.length + text.length + Number(stopped.aborted);
}

async function wrong(client: hf.Client, lock: hf.Lock): Promise<void> {
  // @ts-expect-error there is no such option
  await client.lock('deploy', { timeout: 5 });
  // @ts-expect-error a time is a number
  await client.lock('deploy', { wait: '5s' });
  // @ts-expect-error a name is a string
  await client.lock(5);
  // @ts-expect-error the work is missing
  await client.withLock('deploy', { wait: 5 });
  // @ts-expect-error the token is the daemon's
  lock.token = 5;
  // @ts-expect-error a lock comes from lock()
  new hf.Lock();
  // @ts-expect-error errors come from this package
  new hf.LockLostError('deploy');
}

export { right, wrong };
