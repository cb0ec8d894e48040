// Holds the names of its arguments (tests/interop/outages) by client/node: a task for each.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../../../client/node/index.mjs';

const hf = new Client();

for (const name of process.argv.slice(2)) {
	const lock = await hf.lock(name);
	lock.signal.addEventListener('abort', () => console.log('lost', name));
	console.log('held', name);
	await sleep(800); // so that their leases are renewed at other times
}
process.stdin.resume().on('end', () => process.exit(0));
