//! A puppet (tests/interop/puppet.py) of fred: a client is one connection, which threads may share. The task of the
//! connection ends when it is lost. What is sent after that is never answered, so each call watches the task.

use fred::prelude::*;
use fred::types::{ClusterHash, CustomCommand, Resp3Frame};
use holdfast_interop::{event, perform, Answer, Client as Puppet, Failure, Wanted};
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::AbortHandle;

struct One {
    runtime: Arc<Runtime>,
    client: Client,
    connection: AbortHandle,
    ended: watch::Receiver<bool>,
}

fn text(frame: Resp3Frame) -> String {
    match frame {
        Resp3Frame::Number { data, .. } => data.to_string(),
        Resp3Frame::BlobString { data, .. } | Resp3Frame::SimpleString { data, .. } => {
            String::from_utf8_lossy(&data).into_owned()
        }
        other => format!("{other:?}"),
    }
}

impl Puppet for One {
    fn call(&self, words: &[String]) -> Result<Answer, Failure> {
        let command = CustomCommand::new(words[0].as_str(), ClusterHash::FirstKey, false);
        let mut ended = self.ended.clone();
        let frame = self.runtime.block_on(async {
            tokio::select! {
                frame = self.client.custom_raw(command, words[1..].to_vec()) => frame,
                _ = ended.wait_for(|ended| *ended) => Err(Error::new(ErrorKind::IO, "the connection has ended")),
            }
        });
        match frame {
            Ok(Resp3Frame::Null) => Ok(Answer::Null),
            Ok(Resp3Frame::Number { data, .. }) => Ok(Answer::Int(data)),
            Ok(Resp3Frame::Array { data, .. }) => Ok(Answer::List(data.into_iter().map(text).collect())),
            Ok(Resp3Frame::SimpleError { data, .. }) => Err(Failure::Refused(data.to_string())),
            Ok(frame) => Ok(Answer::Text(text(frame))),
            Err(error) => Err(Failure::Broken(error.to_string())),
        }
    }

    /// quit() would go out behind a LOCK that waits.
    fn close(&self) {
        self.connection.abort();
    }
}

fn main() {
    let runtime = Arc::new(Runtime::new().unwrap());
    perform("fred", "fred", |wanted: Wanted| {
        let config = Config { server: ServerConfig::new_centralized("127.0.0.1", wanted.port), ..Config::default() };
        let client = Builder::from_config(config).build().map_err(|error| error.to_string())?;
        let connection = runtime.block_on(client.init()).map_err(|error| error.to_string())?;
        let abort = connection.abort_handle();
        let (tell, ended) = watch::channel(false);
        runtime.spawn(async move {
            let _ = connection.await;
            tell.send_replace(true);
            event(&wanted.name, "the connection has ended");
        });
        Ok(Arc::new(One { runtime: runtime.clone(), client, connection: abort, ended }))
    });
}
