// A puppet (tests/interop/puppet.py) of iovalkey.
import { Redis, ReplyError } from 'iovalkey';
import { readFileSync } from 'node:fs';
import { perform } from './lines.mjs';

const version = JSON.parse(readFileSync(new URL('node_modules/iovalkey/package.json', import.meta.url))).version;

perform(`iovalkey ${version}`, {
	async open(port, kind, lost) {
		const client = new Redis(port);
		client.on('close', lost);
		client.on('error', () => {});
		return client;
	},
	call: (client, words) => client.call(...words),
	close: (client) => client.disconnect(),
	isReply: (error) => error instanceof ReplyError,
});
