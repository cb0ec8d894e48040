"""address: where the daemon is. It makes no connection; it only looks whether a standard socket exists, and who could have put
it there."""

import os
import stat
from typing import NamedTuple, Optional
from urllib.parse import unquote

DEFAULT_SOCKET = "/run/holdfast/holdfast.sock"
DEFAULT_PORT = 5625


class Tls(NamedTuple):
    """Files with PEM; "" or "system" as ca: the authorities that this host trusts. name: of the daemon's certificate; "": the
    host."""

    ca: str = ""
    certificate: str = ""
    key: str = ""
    name: str = ""


class Address(NamedTuple):
    """A Unix socket (path), or a host and port, and a login for it."""

    path: str
    host: str
    port: int
    user: str
    password: str
    tls: Optional[Tls] = None
    standard: bool = False  # neither the program nor $HOLDFAST_URL names it: own if it is there, else path
    own: str = ""  # the socket of the user's own daemon; "": $XDG_RUNTIME_DIR is not set
    variable: bool = False  # from $HOLDFAST_URL

    def now(self) -> "Address":
        """Where to connect now: of the standard address, the socket that is there."""
        if not self.standard:
            return self._replace(variable=False)
        takes = self.own and os.path.exists(self.own) and not _fault(self.own)
        return _parse_path(self.own if takes else self.path)

    @property
    def missing(self) -> str:
        """Says that no socket of the standard address is there."""
        if not self.own:
            return "%s is not there" % self.path
        if os.path.exists(self.own) and _fault(self.own):
            return "$XDG_RUNTIME_DIR/holdfast/holdfast.sock is not taken, %s, and %s is not there" % (_fault(self.own), self.path)
        return "neither $XDG_RUNTIME_DIR/holdfast/holdfast.sock nor %s is there" % self.path

    def __str__(self) -> str:
        if self.path:
            return "unix:%s" % self.path
        return "%s://%s:%d" % ("tls" if self.tls else "tcp", self.host, self.port)


def _fault(own: str) -> str:
    """"": only root and this user can have put the socket there. The variable outlives su and sudo -E, and may name the directory
    of another user, whose daemon could grant what is held elsewhere. /run/holdfast is root's in any case."""
    trusted = (0, os.geteuid() if hasattr(os, "geteuid") else 0)
    try:
        for directory in (os.path.dirname(os.path.dirname(own)), os.path.dirname(own)):
            found = os.stat(directory)
            if found.st_uid not in trusted or os.lstat(directory).st_uid not in trusted:
                return "its directory belongs to another user"
            if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
                return "everybody may write to its directory"
        return "" if os.lstat(own).st_uid in trusted else "it belongs to another user"
    except OSError:
        return "it cannot be looked at"


def parse(url: str, what: str = "the address of holdfastd") -> Address:
    """Takes unix:PATH, unix://PATH, a path with a slash in front, tcp:// or redis://[user:password@]host[:port], tls:// or
    rediss:// likewise with ?ca=PATH&certificate=PATH&key=PATH&name=HOST, or host:port. ValueError if it is none of these; it
    shows the url unless that may have a password."""
    try:
        return _parse(url)
    except ValueError as error:
        raise ValueError("%s%s: %s" % (what, "" if "@" in url else " %r" % url, error)) from None


def _parse(url: str) -> Address:
    for scheme in ("unix://", "unix:"):
        if url.startswith(scheme):
            return _parse_path(url[len(scheme):])
    if url[:1] in ("/", "."):
        return _parse_path(url)
    for scheme in ("tcp://", "redis://"):
        if url.startswith(scheme):
            return _parse_tcp(url[len(scheme):])
    for scheme in ("tls://", "rediss://"):
        if url.startswith(scheme):
            place, _, options = url[len(scheme):].partition("?")
            return _parse_tcp(place)._replace(tls=_parse_tls(options))
    if "://" in url or ":" not in url:
        raise ValueError("it is neither a path (with a /) nor host:port nor a unix://, tcp://, redis://, tls:// or rediss:// URL")
    return _parse_tcp(url)


def _parse_path(path: str) -> Address:
    if not path:
        raise ValueError("the path of the daemon's socket is empty")
    return Address(path, "", 0, "", "")


def _parse_tcp(text: str) -> Address:
    text, slash, database = text.partition("/")
    if slash and database not in ("", "0"):
        raise ValueError("after the port only /0 is allowed: there is one space of names")
    login, at, place = text.rpartition("@")
    user, _, password = login.partition(":")
    if at and not password:
        raise ValueError("there is a user but no password: redis://user:password@host:port")
    if place.startswith("["):
        host, _, rest = place[1:].partition("]")
        port = rest[1:]
    else:
        host, _, port = place.partition(":")
    if not host or not (port or str(DEFAULT_PORT)).isdigit() or not 0 < int(port or DEFAULT_PORT) < 65536:
        raise ValueError("host:port is needed, with a port from 1 to 65535")
    return Address("", host, int(port or DEFAULT_PORT), unquote(user), unquote(password))


def _parse_tls(text: str) -> Tls:
    options = {}
    for option in filter(None, text.split("&")):
        key, _, value = option.partition("=")
        options[key] = unquote(value)
    if not set(options) <= set(Tls._fields):
        raise ValueError("after the ? only ca=, certificate=, key= and name= are known, with & between them")
    tls = Tls(**options)
    if bool(tls.certificate) != bool(tls.key):
        raise ValueError("certificate= and key= are needed together")
    return tls


def choose() -> Address:
    """That of $HOLDFAST_URL, else the standard address: the user's own daemon if its socket is there, else the system's, as
    the program `holdfast` chooses."""
    url = os.environ.get("HOLDFAST_URL")
    if url:
        return parse(url, "$HOLDFAST_URL")._replace(variable=True)
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    own = os.path.join(runtime, "holdfast", "holdfast.sock") if runtime.startswith("/") else ""
    return _parse_path(DEFAULT_SOCKET)._replace(standard=True, own=own)
