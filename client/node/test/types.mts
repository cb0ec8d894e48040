// The same package for a module.
import * as hf from '../index.mjs';
import { Client, LockLostError, lock, type Lock, type LockOptions } from '../index.mjs';

const options: LockOptions = { wait: 0 };
const held: Lock = await lock('deploy', options);
const client: Client = new hf.Client('/run/holdfast/holdfast.sock', { grace: 1000 });
export const told: boolean = held.signal.reason instanceof LockLostError && (await client.lock('a')).held;
