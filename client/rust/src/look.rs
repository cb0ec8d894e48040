//! look: who has a name that is waited for, as the daemon's INSPECT says. It does no I/O.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use crate::wire::Value;

/// Who has a lock: of several holders the oldest. What is not known is empty, or None.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Holder {
    /// The name of its connection: program and host, for this package.
    pub client: String,
    /// Whose daemon has the lock, if it is not the one of this program.
    pub host: String,
    /// Where it connects from; empty: a Unix socket.
    pub address: String,
    /// Its process, on the host of the daemon.
    pub pid: Option<u32>,
    /// Its user there.
    pub uid: Option<u32>,
    /// Its fencing token; 0: not known.
    pub token: u64,
    /// Its remark.
    pub why: String,
    /// For how long it had the lock when the daemon was asked.
    pub held: Duration,
    /// It is gone, and the lock is kept until that one surely knows.
    pub withheld: bool,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.client.is_empty() { "a client" } else { &self.client })?;
        let pid = self.pid.map(|pid| format!("pid {}", pid));
        let uid = self.uid.map(|uid| format!("uid {}", uid));
        let address = Some(self.address.clone()).filter(|address| !address.is_empty());
        let facts: Vec<String> = pid.into_iter().chain(address).chain(uid).collect();
        if !facts.is_empty() {
            write!(f, " ({})", facts.join(", "))?;
        }
        if !self.host.is_empty() {
            write!(f, " on {}", self.host)?;
        }
        match (self.withheld, self.token) {
            (true, _) => f.write_str(", which is gone"),
            (false, 0) => Ok(()),
            (false, _) => write!(f, ", for {:.1}s", self.held.as_secs_f64()),
        }
    }
}

/// A wait that lasts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Waiting {
    /// The name of the lock.
    pub name: String,
    /// Who has it; None: nobody, or it is not known.
    pub holder: Option<Holder>,
    /// The place in the queue of the daemon, from 1, and behind it in that of this process; None: not known.
    pub position: Option<u64>,
    /// Since the lock was asked for.
    pub waited: Duration,
}

/// What a look has seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) holder: Option<Holder>,
    /// In the queue, by owner.
    pub(crate) places: HashMap<String, u64>,
}

/// The waiters that the answer to INSPECT tells.
pub(crate) fn places(inspected: &Value) -> HashMap<String, u64> {
    let waiters = inspected.get("waiters").items().iter();
    waiters.map(|waiter| (waiter.get("owner").text().to_owned(), positive(waiter.get("position")))).collect()
}

/// The holder that the answer to INSPECT tells.
pub(crate) fn holder(value: &Value, host: &str) -> Option<Holder> {
    let token = positive(value.get("token"));
    if token == 0 {
        return None;
    }
    let text = |key| value.get(key).text().to_owned();
    let small = |key| value.get(key).number().and_then(|n| u32::try_from(n).ok());
    let withheld = match value.get("withheld") {
        Value::Number(n) => *n != 0,
        other => !other.text().is_empty(),
    };
    Some(Holder {
        client: text("client"),
        host: host.to_owned(),
        address: Some(text("address")).filter(|address| address != "unix").unwrap_or_default(),
        pid: small("pid").filter(|pid| *pid > 0),
        uid: small("uid"),
        token,
        why: text("why"),
        held: Duration::from_millis(positive(value.get("held_ms"))),
        withheld,
    })
}

/// The oldest hold of all daemons; of one that is silent its host alone is known.
pub(crate) fn holder_of_fleet(value: &Value) -> Option<Holder> {
    let hosts = value.get("hosts").items().iter();
    let found = hosts.filter_map(|one| holder(one.get("holder"), one.get("host").text()));
    let oldest = found.max_by_key(|holder| (!holder.withheld, holder.held));
    oldest.or_else(|| {
        let silent = value.get("holders").items().first()?;
        Some(Holder {
            client: String::new(),
            host: silent.get("host").text().to_owned(),
            address: String::new(),
            pid: None,
            uid: None,
            token: 0,
            why: String::new(),
            held: Duration::ZERO,
            withheld: false,
        })
    })
}

fn positive(value: &Value) -> u64 {
    value.number().and_then(|n| u64::try_from(n).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::parse;

    #[test]
    fn the_holder_is_read_from_inspect() {
        let bytes = b"%2\r\n$6\r\nholder\r\n%4\r\n$5\r\ntoken\r\n:9\r\n$3\r\npid\r\n:42\r\n$7\r\naddress\r\n$4\r\nunix\r\n$7\r\nheld_ms\r\n:1500\r\n\
                      $7\r\nwaiters\r\n*1\r\n%2\r\n$5\r\nowner\r\n$1\r\nx\r\n$8\r\nposition\r\n:3\r\n";
        let (value, _) = parse(bytes).unwrap().unwrap();
        let found = holder(value.get("holder"), "").unwrap();
        assert_eq!(found.to_string(), "a client (pid 42), for 1.5s");
        assert_eq!(places(&value)["x"], 3);
        assert_eq!(holder(&Value::Null, ""), None);
    }
}
