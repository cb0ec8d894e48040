#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![warn(missing_docs, missing_debug_implementations, rust_2018_idioms)]

mod address;
mod clock;
mod core;
mod engine;
mod error;
mod events;
mod guard;
mod look;
mod request;
mod slot;
mod socket;
#[cfg(feature = "tls")]
mod tls;
mod wire;

pub use error::{Busy, Error, Lost, Refused, Unreachable};
pub use events::{observe, Event, Observation};
pub use guard::{Guard, Watch};
pub use look::{Holder, Waiting};
pub use request::{lock, lock_all, Client, Request};
