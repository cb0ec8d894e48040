//! address: where the daemon is. It makes no connection; it only looks whether a standard socket exists, and who could have put it
//! there.

use std::fmt;
use std::path::Path;

use crate::error::Error;

const DEFAULT_SOCKET: &str = "/run/holdfast/holdfast.sock";
const DEFAULT_PORT: u16 = 5625;

/// Files with PEM; "" or "system" as ca: the authorities that this host trusts. name: of the daemon's certificate; "": the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tls {
    pub(crate) ca: String,
    pub(crate) certificate: String,
    pub(crate) key: String,
    pub(crate) name: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    Path(String),
    Host { host: String, port: u16, tls: Option<Tls> },
}

#[derive(Clone, PartialEq)]
pub(crate) struct Address {
    pub(crate) place: Place,
    pub(crate) login: Option<(String, String)>,
    /// Neither the program nor HOLDFAST_URL names it: own if it is there, else the place.
    pub(crate) standard: bool,
    /// The socket of the user's own daemon; "": XDG_RUNTIME_DIR is not set.
    pub(crate) own: String,
    /// From HOLDFAST_URL.
    pub(crate) variable: bool,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Path(path) => write!(f, "unix:{}", path),
            Place::Host { host, port, tls } => {
                let scheme = if tls.is_some() { "tls" } else { "tcp" };
                if host.contains(':') {
                    write!(f, "{}://[{}]:{}", scheme, host, port)
                } else {
                    write!(f, "{}://{}:{}", scheme, host, port)
                }
            }
        }
    }
}

impl Address {
    /// That of $HOLDFAST_URL, else the standard address: the user's own daemon if its socket is there, else the system's, as the program
    /// `holdfast` chooses.
    pub(crate) fn choose() -> Result<Address, Error> {
        match std::env::var("HOLDFAST_URL") {
            Ok(url) if !url.is_empty() => {
                let address = parse(&url).map_err(|why| wrong("HOLDFAST_URL", "=", &url, why))?;
                Ok(Address { variable: true, ..address })
            }
            Err(std::env::VarError::NotUnicode(_)) => Err(Error::Argument("HOLDFAST_URL is not UTF-8".to_owned())),
            _ => {
                let runtime = std::env::var("XDG_RUNTIME_DIR").unwrap_or_default();
                let own = if runtime.starts_with('/') { runtime + "/holdfast/holdfast.sock" } else { String::new() };
                Ok(Address { standard: true, own, ..at(Place::Path(DEFAULT_SOCKET.to_owned())) })
            }
        }
    }

    /// Takes unix:PATH, unix://PATH, a path, tcp:// or redis://[user:password@]host[:port], tls:// or rediss:// likewise with
    /// ?ca=PATH&certificate=PATH&key=PATH&name=HOST, or host:port. The error shows the url unless that may have a password.
    pub(crate) fn parse(url: &str) -> Result<Address, Error> {
        parse(url).map_err(|why| wrong("the address of holdfastd", " ", url, why))
    }

    /// Where to connect now: of the standard address, the socket that is there.
    pub(crate) fn now(&self) -> Address {
        if !self.standard {
            return Address { variable: false, ..self.clone() };
        }
        let own = !self.own.is_empty() && Path::new(&self.own).exists() && own_fault(&self.own).is_none();
        match (own, &self.place) {
            (true, _) => at(Place::Path(self.own.clone())),
            (false, place) => at(place.clone()),
        }
    }

    /// Says that no socket of the standard address is there.
    pub(crate) fn missing(&self) -> String {
        if self.own.is_empty() {
            return format!("{} is not there", DEFAULT_SOCKET);
        }
        match own_fault(&self.own).filter(|_| Path::new(&self.own).exists()) {
            Some(fault) => format!(
                "$XDG_RUNTIME_DIR/holdfast/holdfast.sock is not taken, {}, and {} is not there",
                fault, DEFAULT_SOCKET
            ),
            None => format!("neither $XDG_RUNTIME_DIR/holdfast/holdfast.sock nor {} is there", DEFAULT_SOCKET),
        }
    }

    pub(crate) fn is_unix(&self) -> bool {
        matches!(self.place, Place::Path(_))
    }
}

fn wrong(what: &str, between: &str, url: &str, why: String) -> Error {
    if url.contains('@') {
        return Error::Argument(format!("{}: {}", what, why)); // it may have a password
    }
    Error::Argument(format!("{}{}{:?}: {}", what, between, url, why))
}

fn at(place: Place) -> Address {
    Address { place, login: None, standard: false, own: String::new(), variable: false }
}

fn parse(url: &str) -> Result<Address, String> {
    let after = |schemes: &[&str]| schemes.iter().find_map(|scheme| url.strip_prefix(scheme).map(str::to_owned));
    if let Some(path) =
        after(&["unix://", "unix:"]).or_else(|| Some(url.to_owned()).filter(|url| url.starts_with(['/', '.'])))
    {
        return match path.is_empty() {
            true => Err("the path of the socket is empty".to_owned()),
            false => Ok(at(Place::Path(path))),
        };
    }
    if let Some(rest) = after(&["tcp://", "redis://"]) {
        return parse_host(&rest, None);
    }
    if let Some(rest) = after(&["tls://", "rediss://"]) {
        let (place, options) = split_options(&rest);
        let tls = parse_tls(options)?;
        return parse_host(place, Some(tls));
    }
    if url.contains("://") || !url.contains(':') {
        return Err(
            "it is neither a path (with a /) nor host:port nor a unix://, tcp://, redis://, tls:// or rediss:// URL"
                .to_owned(),
        );
    }
    parse_host(url, None)
}

/// The options stand behind the last question mark behind the login, which may have one in its password.
fn split_options(text: &str) -> (&str, &str) {
    let from = text.rfind('@').map_or(0, |at| at + 1);
    text[from..].find('?').map_or((text, ""), |at| (&text[..from + at], &text[from + at + 1..]))
}

fn parse_host(text: &str, tls: Option<Tls>) -> Result<Address, String> {
    let (login, place) = match text.rsplit_once('@') {
        Some((login, place)) => (Some(parse_login(login)?), place),
        None => (None, text),
    };
    let (place, database) = place.split_once('/').unwrap_or((place, ""));
    if !database.is_empty() && database != "0" {
        return Err("after the port only /0 is allowed: there is one space of names".to_owned());
    }
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':').unwrap_or(rest)),
        None => place.split_once(':').unwrap_or((place, "")),
    };
    let port = if port.is_empty() { Some(DEFAULT_PORT) } else { port.parse().ok().filter(|port| *port > 0) };
    match port {
        Some(port) if !host.is_empty() => Ok(Address { login, ..at(Place::Host { host: host.to_owned(), port, tls }) }),
        _ => Err("host:port is needed, with a port from 1 to 65535".to_owned()),
    }
}

fn parse_login(login: &str) -> Result<(String, String), String> {
    match login.split_once(':') {
        Some((user, password)) if !password.is_empty() => {
            let user = if user.is_empty() { "default".to_owned() } else { decoded(user) };
            Ok((user, decoded(password)))
        }
        _ => Err("there is a user but no password: redis://user:password@host:port".to_owned()),
    }
}

fn parse_tls(text: &str) -> Result<Tls, String> {
    let mut tls = Tls::default();
    for option in text.split('&').filter(|option| !option.is_empty()) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        let field = match key {
            "ca" => &mut tls.ca,
            "certificate" => &mut tls.certificate,
            "key" => &mut tls.key,
            "name" => &mut tls.name,
            _ => {
                return Err(
                    "after the ? only ca=, certificate=, key= and name= are known, with & between them".to_owned()
                )
            }
        };
        *field = decoded(value);
    }
    if tls.certificate.is_empty() != tls.key.is_empty() {
        return Err("certificate= and key= are needed together".to_owned());
    }
    Ok(tls)
}

/// %XX stands for a byte. Any other % stands for itself.
fn decoded(text: &str) -> String {
    let hex = |at: usize| text.get(at + 1..at + 3).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match (text.as_bytes()[at], hex(at)) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                at += 3;
            }
            (byte, _) => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// None: only root and this user can have put the socket there. The variable outlives su and sudo -E, and may name the directory of
/// another user, whose daemon could grant what is held elsewhere. /run/holdfast is root's in any case.
#[cfg(unix)]
fn own_fault(own: &str) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;
    let user = std::fs::metadata("/proc/self").map(|found| found.uid()).unwrap_or(0);
    let trusted = |found: &std::fs::Metadata| found.uid() == 0 || found.uid() == user;
    let home = Path::new(own).parent()?;
    for directory in [home.parent()?, home] {
        match (std::fs::metadata(directory), std::fs::symlink_metadata(directory)) {
            (Ok(found), Ok(itself)) if trusted(&found) && trusted(&itself) => {
                if found.mode() & 0o1002 == 0o002 {
                    return Some("everybody may write to its directory");
                }
            }
            (Ok(_), Ok(_)) => return Some("its directory belongs to another user"),
            _ => return Some("it cannot be looked at"),
        }
    }
    match std::fs::symlink_metadata(own) {
        Ok(found) if trusted(&found) => None,
        Ok(_) => Some("it belongs to another user"),
        Err(_) => Some("it cannot be looked at"),
    }
}

#[cfg(not(unix))]
fn own_fault(_own: &str) -> Option<&'static str> {
    Some("this system has no Unix sockets")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> (String, Option<(String, String)>) {
        let address = Address::parse(text).unwrap();
        (address.to_string(), address.login)
    }

    fn login(user: &str, password: &str) -> Option<(String, String)> {
        Some((user.to_owned(), password.to_owned()))
    }

    #[test]
    fn each_form_of_an_address_is_read() {
        for text in ["unix:/run/a", "unix:///run/a", "/run/a"] {
            assert_eq!(Address::parse(text).unwrap().to_string(), "unix:/run/a");
        }
        assert_eq!(host("one:7"), ("tcp://one:7".into(), None));
        assert_eq!(host("redis://one"), ("tcp://one:5625".into(), None));
        assert_eq!(host("tcp://[::1]:7/0"), ("tcp://[::1]:7".into(), None));
        assert_eq!(host("redis://:secret@one"), ("tcp://one:5625".into(), login("default", "secret")));
    }

    #[test]
    fn a_password_may_have_any_character() {
        assert_eq!(host("tcp://a:b:c@d/e?f%zz%40@one:7").1, login("a", "b:c@d/e?f%zz@"));
        let address = Address::parse("tls://a:b?c@one?ca=/x%20y&name=two").unwrap();
        assert_eq!(address.login, login("a", "b?c"));
        let tls = Tls { ca: "/x y".into(), name: "two".into(), ..Tls::default() };
        assert_eq!(address.place, Place::Host { host: "one".into(), port: 5625, tls: Some(tls) });
    }

    #[test]
    fn a_wrong_address_is_refused_without_its_password() {
        for (text, said) in [
            ("unix:", "\"unix:\": the path of the socket is empty"),
            ("nothing", "\"nothing\": it is neither a path"),
            ("http://a:1", "it is neither a path"),
            ("one:0", "host:port is needed, with a port from 1 to 65535"),
            ("tcp://one/1", "after the port only /0 is allowed"),
            ("tcp://a@one", "of holdfastd: there is a user but no password"),
            ("tcp://a:hush@:1", "of holdfastd: host:port is needed"),
            ("tls://one?cert=x", "only ca=, certificate=, key= and name= are known"),
            ("tls://one?key=x", "certificate= and key= are needed together"),
        ] {
            let error = Address::parse(text).map(|address| address.to_string()).unwrap_err().to_string();
            assert!(error.contains(said) && !error.contains("hush"), "{}", error);
        }
    }
}
