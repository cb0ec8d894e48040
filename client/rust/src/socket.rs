//! socket: a connection to the daemon. One thread reads it; whoever has something to say writes, and never waits for long.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::address::{Address, Place, Tls};
#[cfg(feature = "tls")]
use crate::tls::Session;

/// For one attempt.
const CONNECT: Duration = Duration::from_secs(1);
/// For a write to a daemon that does not read.
const WRITE: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(crate) enum Raw {
    #[cfg(unix)]
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Read for Raw {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            #[cfg(unix)]
            Raw::Unix(stream) => stream.read(buffer),
            Raw::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Raw {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            #[cfg(unix)]
            Raw::Unix(stream) => stream.write(data),
            Raw::Tcp(stream) => stream.write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Raw {
    fn try_clone(&self) -> io::Result<Raw> {
        match self {
            #[cfg(unix)]
            Raw::Unix(stream) => stream.try_clone().map(Raw::Unix),
            Raw::Tcp(stream) => stream.try_clone().map(Raw::Tcp),
        }
    }

    fn set_timeouts(&self, read: Option<Duration>, write: Duration) -> io::Result<()> {
        match self {
            #[cfg(unix)]
            Raw::Unix(stream) => {
                stream.set_read_timeout(read)?;
                stream.set_write_timeout(Some(write))
            }
            Raw::Tcp(stream) => {
                stream.set_read_timeout(read)?;
                stream.set_write_timeout(Some(write))
            }
        }
    }
}

/// The side that writes.
#[derive(Debug)]
pub(crate) struct Link {
    raw: Raw,
    #[cfg(feature = "tls")]
    tls: Option<Session>,
}

impl Link {
    /// Connects, and returns also the side that reads.
    pub(crate) fn connect(address: &Address) -> io::Result<(Link, Raw)> {
        match &address.place {
            Place::Path(path) => Link::of(unix(path)?, None),
            Place::Host { host, port, tls } => {
                let stream = tcp(host, *port)?;
                stream.set_nodelay(true)?;
                Link::of(Raw::Tcp(stream), tls.as_ref().map(|tls| (tls, host.as_str())))
            }
        }
    }

    #[cfg(feature = "tls")]
    fn of(mut raw: Raw, tls: Option<(&Tls, &str)>) -> io::Result<(Link, Raw)> {
        raw.set_timeouts(Some(CONNECT), CONNECT)?;
        let tls = match tls {
            Some((tls, host)) => Some(Session::begin(&mut raw, tls, host)?),
            None => None,
        };
        raw.set_timeouts(None, WRITE)?;
        let reader = raw.try_clone()?;
        Ok((Link { raw, tls }, reader))
    }

    #[cfg(not(feature = "tls"))]
    fn of(raw: Raw, tls: Option<(&Tls, &str)>) -> io::Result<(Link, Raw)> {
        if tls.is_some() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "tls:// needs the feature `tls` of this package"));
        }
        raw.set_timeouts(None, WRITE)?;
        let reader = raw.try_clone()?;
        Ok((Link { raw }, reader))
    }

    /// Sends what it can at once, and takes it out of `output`. Whether all was sent.
    pub(crate) fn send(&mut self, output: &mut Vec<u8>) -> io::Result<bool> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &mut self.tls {
            return tls.send(&mut self.raw, output);
        }
        while !output.is_empty() {
            match self.raw.write(output) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => drop(output.drain(..sent)),
                Err(error) if is_later(&error) => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// What the daemon said by these bytes.
    #[cfg(feature = "tls")]
    pub(crate) fn heard(&mut self, data: &[u8]) -> io::Result<Vec<u8>> {
        match &mut self.tls {
            Some(tls) => tls.heard(data),
            None => Ok(data.to_vec()),
        }
    }

    /// What the daemon said by these bytes.
    #[cfg(not(feature = "tls"))]
    pub(crate) fn heard(&mut self, data: &[u8]) -> io::Result<Vec<u8>> {
        Ok(data.to_vec())
    }

    /// Ends the connection; the side that reads hears of it.
    pub(crate) fn close(&self) {
        let _ = match &self.raw {
            #[cfg(unix)]
            Raw::Unix(stream) => stream.shutdown(Shutdown::Both),
            Raw::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

#[cfg(unix)]
fn unix(path: &str) -> io::Result<Raw> {
    UnixStream::connect(path).map(Raw::Unix)
}

#[cfg(not(unix))]
fn unix(_path: &str) -> io::Result<Raw> {
    let text = "this system has no Unix sockets: use the host:port of a daemon, as in $HOLDFAST_URL";
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

fn tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut why = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for place in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&place, CONNECT) {
            Ok(stream) => return Ok(stream),
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// The socket had no room, or no bytes, within its time-out: the connection goes on.
pub(crate) fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
