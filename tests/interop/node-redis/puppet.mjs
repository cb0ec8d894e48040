// A puppet (tests/interop/puppet.py) of node-redis.
import { createClient, ErrorReply } from 'redis';
import { readFileSync } from 'node:fs';
import { perform } from './lines.mjs';

const version = JSON.parse(readFileSync(new URL('node_modules/redis/package.json', import.meta.url))).version;

perform(`node-redis ${version}`, {
	async open(port, kind, lost) {
		const client = createClient({ socket: { port } });
		client.on('error', lost);
		await client.connect();
		return client;
	},
	call: (client, words) => client.sendCommand(words),
	close: (client) => client.destroy(),
	isReply: (error) => error instanceof ErrorReply,
});
