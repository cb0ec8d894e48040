//! A puppet (tests/interop/puppet.py) of redis-rs without async. A connection is for one thread at a time, so each has
//! a mutex; hang-ups come from another thread by shutdown(2).

#[path = "../redis_rs.rs"]
mod redis_rs;

use holdfast_interop::{perform, Answer, Client, Failure, Wanted};
use redis::{Connection, Value};
use std::collections::HashSet;
use std::fs::{read_dir, read_link};
use std::mem::ManuallyDrop;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{FromRawFd, RawFd};
use std::sync::{Arc, Mutex};

struct One {
    connection: Mutex<Connection>,
    socket: RawFd,
}

impl Client for One {
    fn call(&self, words: &[String]) -> Result<Answer, Failure> {
        let mut connection = self.connection.lock().unwrap();
        redis_rs::outcome(redis_rs::command(words).query::<Value>(&mut *connection))
    }

    fn close(&self) {
        // Safety: the connection keeps the socket open as long as it lives.
        let socket = ManuallyDrop::new(unsafe { TcpStream::from_raw_fd(self.socket) });
        let _ = socket.shutdown(Shutdown::Both);
    }
}

/// A connection does not tell its socket.
fn sockets() -> HashSet<RawFd> {
    let is_socket = |fd: &RawFd| {
        read_link(format!("/proc/self/fd/{fd}")).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
    };
    let entries = read_dir("/proc/self/fd").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter(is_socket).collect()
}

fn open(wanted: Wanted) -> Result<Arc<dyn Client>, String> {
    let before = sockets();
    let client = redis::Client::open(("127.0.0.1", wanted.port)).map_err(|error| error.to_string())?;
    let connection = Mutex::new(client.get_connection().map_err(|error| error.to_string())?);
    let socket = *sockets().difference(&before).next().ok_or("no socket")?;
    Ok(Arc::new(One { connection, socket }))
}

fn main() {
    perform("redis-rs", "redis", open);
}
