//! What both halves of redis-rs have in common.

use holdfast_interop::{Answer, Failure};
use redis::{Cmd, RedisError, Value};

pub fn command(words: &[String]) -> Cmd {
    let mut command = redis::cmd(&words[0]);
    command.arg(&words[1..]);
    command
}

fn text(value: Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Value::SimpleString(text) => text,
        Value::Okay => "OK".into(),
        Value::Int(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

pub fn outcome(result: Result<Value, RedisError>) -> Result<Answer, Failure> {
    match result {
        Ok(Value::Nil) => Ok(Answer::Null),
        Ok(Value::Int(number)) => Ok(Answer::Int(number)),
        Ok(Value::Array(items)) => Ok(Answer::List(items.into_iter().map(text).collect())),
        Ok(value) => Ok(Answer::Text(text(value))),
        Err(error) => Err(match error.code() {
            Some(code) => Failure::Refused(format!("{code} {}", error.detail().unwrap_or(""))),
            None => Failure::Broken(error.to_string()),
        }),
    }
}
