// The pool test (tests/e2e/pools.py) for the libraries of Node.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

const TASKS = 10;
const NAMES = ['deploy', 'report', 'import', 'orders'];
const [port, operations, timeout] = process.argv.slice(2).map(Number);

/** send(words, task): the library's answer, as often sent as it takes */
async function operate(send, name, task) {
	const me = randomUUID();
	const token = await send(['LOCK', name, 'WAIT', '120000', 'AS', me], task); // null: another client has it
	console.log('enter', name, task, token);
	await pause(Math.random() * 10);
	console.log('leave', name, task);
	const left = await send(['UNLOCK', name, 'TOKEN', String(token), 'AS', me], task);
	if (left !== 0)
		throw new Error(`UNLOCK answers ${left}`);
}

async function work(send, task) {
	for (let i = 0; i < operations / TASKS; i++) {
		const name = NAMES[Math.floor(Math.random() * NAMES.length)];
		await operate(send, name, task).catch((error) => console.log('failed', name, task, error.message));
	}
}

/** Sends a request again until there is an answer to it: the daemon knows the id, and does nothing twice. */
export async function again(request, isReply) {
	for (;;) {
		try {
			return await request();
		} catch (error) {
			if (isReply(error))
				throw error;
			console.log('again');
			await pause(5);
		}
	}
}

/** open(port, timeout) -> send */
export async function perform(open) {
	const send = await open(port, timeout);
	await Promise.all(Array.from({ length: TASKS }, (_, task) => work(send, task)));
	process.exit(0);
}
