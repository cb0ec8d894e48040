//! A puppet (tests/interop/puppet.py) of redis-rs with async: a multiplexed connection, which threads may share.

#[path = "../redis_rs.rs"]
mod redis_rs;

use holdfast_interop::{perform, Answer, Client, Failure, Wanted};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Value};
use std::sync::{Arc, Mutex};
use tokio::runtime::Runtime;
use tokio::sync::watch;

struct One {
    runtime: Arc<Runtime>,
    connection: Mutex<Option<MultiplexedConnection>>,
    closing: watch::Sender<bool>,
}

impl Client for One {
    fn call(&self, words: &[String]) -> Result<Answer, Failure> {
        let closed = || Err(Failure::Broken("closed".into()));
        let Some(mut connection) = self.connection.lock().unwrap().clone() else {
            return closed();
        };
        let command = redis_rs::command(words);
        let mut closing = self.closing.subscribe();
        self.runtime.block_on(async {
            tokio::select! {
                value = command.query_async::<Value>(&mut connection) => redis_rs::outcome(value),
                _ = closing.wait_for(|closing| *closing) => closed(),
            }
        })
    }

    /// The connection ends with the last of its clones.
    fn close(&self) {
        self.connection.lock().unwrap().take();
        self.closing.send_replace(true);
    }
}

fn main() {
    let runtime = Arc::new(Runtime::new().unwrap());
    perform("redis-rs async", "redis", |wanted: Wanted| {
        let config = AsyncConnectionConfig::new();
        let config = if wanted.patient { config.set_response_timeout(None) } else { config };
        let client = redis::Client::open(("127.0.0.1", wanted.port)).map_err(|error| error.to_string())?;
        let connection = runtime
            .block_on(client.get_multiplexed_async_connection_with_config(&config))
            .map_err(|error| error.to_string())?;
        Ok(Arc::new(One {
            runtime: runtime.clone(),
            connection: Mutex::new(Some(connection)),
            closing: watch::Sender::new(false),
        }))
    });
}
