'use strict';
/* address: where the daemon is. It makes no connection; it only looks whether a default socket exists,
 * and who could have put it there. */

const fs = require('node:fs');
const path = require('node:path');

const DEFAULT_SOCKET = '/run/holdfast/holdfast.sock';
const DEFAULT_PORT = 5625;

/**
 * Files with PEM, and the name that the daemon's certificate must have. Without ca the authorities that Node trusts count,
 * without name the host.
 * @typedef {{ ca: string, certificate: string, key: string, name: string }} Secure
 */

/**
 * A Unix socket (path), or a host and port, a login for it, and TLS if it is wanted.
 * @typedef {{ path: string, host: string, port: number, user: string, password: string, text: string, tls?: Secure }} Address
 * `text` has neither user nor password.
 */

/**
 * Takes unix:PATH, unix://PATH, a path, tcp:// or redis://[user:password@]host[:port], tls:// or rediss:// likewise with
 * ?ca=PATH&certificate=PATH&key=PATH&name=HOST, or host:port. Errors never show what was given: it may have a password.
 * @param {string} where
 * @returns {Address}
 */
function parseAddress(where) {
  const unix = /^unix:(?:\/\/)?(.*)$/s.exec(where);
  if (unix) return fromPath(/** @type {string} */ (unix[1]));
  const tcp = /^(?:tcp|redis):\/\/(.*)$/s.exec(where);
  if (tcp) return fromTcp(/** @type {string} */ (tcp[1]));
  const tls = /^(?:tls|rediss):\/\/([^?]*)(?:\?(.*))?$/s.exec(where);
  if (tls) return fromTls(/** @type {string} */ (tls[1]), tls[2] ?? '');
  if (where.includes('://'))
    throw new TypeError('the address of holdfastd: only unix://, tcp://, redis://, tls:// and rediss:// are known');
  if (/^[/.]/.test(where)) return fromPath(where);
  if (!where.includes(':')) {
    throw new TypeError('the address of holdfastd is neither a path (with a /) nor host:port nor a URL');
  }
  return fromTcp(where);
}

/**
 * @param {string} path
 * @returns {Address}
 */
function fromPath(path) {
  if (path === '') throw new TypeError('the path of the socket of holdfastd is empty');
  return { path, host: '', port: 0, user: '', password: '', text: `unix:${path}` };
}

/**
 * @param {string} text
 * @returns {Address}
 */
function fromTcp(text) {
  const found = /^(?:(.*)@)?(?:\[([^\]]*)\]|([^:[\]/@]*))(?::([0-9]*))?(?:\/(.*))?$/s.exec(text);
  if (!found) throw new TypeError('the address of holdfastd: host:port is needed');
  const [, login, bracketed, plain, digits, base] = found;
  if (base !== undefined && base !== '' && base !== '0') {
    throw new TypeError('the address of holdfastd: after the port only /0 is allowed: there is one space of names');
  }
  const host = bracketed ?? plain ?? '';
  const port = digits ? Number(digits) : DEFAULT_PORT;
  if (host === '' || port < 1 || port > 65535) {
    throw new TypeError('the address of holdfastd: a host is needed, and a port from 1 to 65535');
  }
  const { user, password } = fromLogin(login);
  return { path: '', host, port, user, password, text: `tcp://${host.includes(':') ? `[${host}]` : host}:${port}` };
}

/**
 * @param {string} place
 * @param {string} options
 * @returns {Address}
 */
function fromTls(place, options) {
  const address = fromTcp(place);
  const tls = { ca: '', certificate: '', key: '', name: '' };
  for (const option of options.split('&').filter(Boolean)) {
    const [key = '', value = ''] = option.split(/=(.*)/s);
    if (!Object.hasOwn(tls, key)) {
      throw new TypeError('the address of holdfastd: after the ? only ca=, certificate=, key= and name= are known');
    }
    tls[/** @type {keyof Secure} */ (key)] = decoded(value);
  }
  if ((tls.certificate === '') !== (tls.key === '')) {
    throw new TypeError('the address of holdfastd: certificate= and key= are needed together');
  }
  return { ...address, text: address.text.replace('tcp://', 'tls://'), tls };
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new TypeError('the address of holdfastd has a % that is not %XX');
  }
}

/** @param {string | undefined} login */
function fromLogin(login) {
  if (login === undefined) return { user: '', password: '' };
  const colon = login.indexOf(':');
  if (colon < 0 || colon === login.length - 1) {
    throw new TypeError('the address of holdfastd has a user but no password: redis://user:password@host:port');
  }
  return { user: decoded(login.slice(0, colon)), password: decoded(login.slice(colon + 1)) };
}

/** The socket of the user's own daemon; '': there can be none. */
function ownSocket() {
  const runtime = process.env['XDG_RUNTIME_DIR'] ?? '';
  return runtime.startsWith('/') ? `${runtime}/holdfast/holdfast.sock` : '';
}

/** @param {fs.Stats} found */
function trusted(found) {
  return found.uid === 0 || found.uid === process.geteuid?.();
}

/**
 * '': only root and this user can have put the socket there. The variable outlives su and sudo -E, and may name the directory of
 * another user, whose daemon could grant what is held elsewhere. /run/holdfast is root's in any case.
 * @param {string} own
 */
function ownFault(own) {
  const home = path.dirname(own);
  try {
    for (const directory of [path.dirname(home), home]) {
      const found = fs.statSync(directory);
      if (!trusted(found) || !trusted(fs.lstatSync(directory))) return 'its directory belongs to another user';
      if ((found.mode & 0o1002) === 0o002) return 'everybody may write to its directory';
    }
    return trusted(fs.lstatSync(own)) ? '' : 'it belongs to another user';
  } catch {
    return 'it cannot be looked at';
  }
}

/**
 * That of $HOLDFAST_URL, of the user's own daemon if its socket is there, or of the system's daemon, as the program
 * `holdfast` chooses.
 * @returns {Address}
 */
function chooseAddress() {
  const url = process.env['HOLDFAST_URL'];
  if (url) return parseAddress(url);
  const own = ownSocket();
  return parseAddress(own && fs.existsSync(own) && ownFault(own) === '' ? own : DEFAULT_SOCKET);
}

/**
 * For an error: whether HOLDFAST_URL has named the address, and what to do if the daemon is elsewhere.
 * @param {Address} address
 */
function originOf(address) {
  const url = process.env['HOLDFAST_URL'];
  const own = ownSocket();
  const usual = !url && [DEFAULT_SOCKET, own].includes(address.path);
  const fault = usual && address.path !== own && own && fs.existsSync(own) ? ownFault(own) : '';
  return {
    from: url && named(url) === address.text ? ' (from HOLDFAST_URL)' : '',
    elsewhere: usual
      ? `${fault && ` $XDG_RUNTIME_DIR/holdfast/holdfast.sock is not taken, ${fault}.`} If it is elsewhere, set HOLDFAST_URL`
      : '',
  };
}

/** @param {string} url */
function named(url) {
  try {
    return parseAddress(url).text;
  } catch {
    return ''; // a client with an address of its own does not read it
  }
}

module.exports = { parseAddress, chooseAddress, originOf };
