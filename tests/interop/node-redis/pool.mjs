// The pool test (tests/e2e/pools.py) of node-redis: its pool of clients. A read that times out closes the connection; what
// was under way is an error then, and sent again here.
import { createClientPool, ErrorReply } from 'redis';
import { again, perform } from './pool-tasks.mjs';

await perform(async (port, timeout) => {
	const pool = createClientPool(
		{ socket: { port, socketTimeout: timeout, reconnectStrategy: 5 } },
		{ acquireTimeout: 0 },
	);
	pool.on('error', () => {});
	await pool.connect();
	return (words) => again(() => pool.sendCommand(words), (error) => error instanceof ErrorReply);
});
