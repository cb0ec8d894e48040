//! wire: requests and answers as bytes, section 1 of PROTOCOL.md. It does no I/O.

use std::fmt;

const BULK_MAX: usize = 1 << 20;
const ITEMS_MAX: usize = 1 << 16;
const DEPTH_MAX: u32 = 8;

/// An answer of the daemon.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Word(String),
    Failure {
        code: String,
        text: String,
    },
    Number(i64),
    Null,
    Text(String),
    Array(Vec<Value>),
    /// Key, value, key, value.
    Map(Vec<Value>),
    Push(Vec<Value>),
}

impl Value {
    pub(crate) fn number(&self) -> Option<i64> {
        match self {
            Value::Number(n) => Some(*n),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Value::Text(text) | Value::Word(text) => text,
            _ => "",
        }
    }

    pub(crate) fn items(&self) -> &[Value] {
        match self {
            Value::Array(items) | Value::Map(items) | Value::Push(items) => items,
            _ => &[],
        }
    }

    /// The value of a key of a map; null: it is not there, or this is no map.
    pub(crate) fn get(&self, key: &str) -> &Value {
        let map = match self {
            Value::Map(items) => items.as_slice(),
            _ => &[],
        };
        let pair = map.chunks_exact(2).find(|pair| pair[0].text() == key);
        pair.map_or(&Value::Null, |pair| &pair[1])
    }
}

/// What was read is no answer of a holdfastd.
#[derive(Debug, PartialEq)]
pub(crate) struct Foreign(String);

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "what answers there is not holdfastd: it says {:?}", self.0)
    }
}

/// Appends a request as a RESP array.
pub(crate) fn encode<S: AsRef<str>>(output: &mut Vec<u8>, words: &[S]) {
    output.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        let word = word.as_ref();
        output.extend_from_slice(format!("${}\r\n{}\r\n", word.len(), word).as_bytes());
    }
}

/// The answer at the beginning of the bytes, and its length; None: more bytes are needed.
pub(crate) fn parse(data: &[u8]) -> Result<Option<(Value, usize)>, Foreign> {
    parse_at(data, 0, 0)
}

fn parse_at(data: &[u8], at: usize, depth: u32) -> Result<Option<(Value, usize)>, Foreign> {
    let rest = &data[at..];
    let end = match rest.windows(2).position(|pair| pair == b"\r\n") {
        Some(end) if end > 0 => end,
        None if rest.len() < BULK_MAX => return Ok(None),
        _ => return Err(foreign(rest)),
    };
    let line = String::from_utf8_lossy(&rest[1..end]).into_owned();
    let next = at + end + 2;
    let value = match rest[0] {
        b'+' => Value::Word(line),
        b'-' => {
            let (code, text) = line.split_once(' ').unwrap_or((&line, ""));
            Value::Failure { code: code.to_owned(), text: text.to_owned() }
        }
        b':' => Value::Number(line.parse().map_err(|_| foreign(rest))?),
        b'_' => Value::Null,
        b'$' | b'*' if line == "-1" => Value::Null,
        b'$' => return bulk(data, next, &line),
        b'*' | b'~' | b'%' | b'>' if depth < DEPTH_MAX => return items(data, next, rest[0], &line, depth),
        _ => return Err(foreign(rest)),
    };
    Ok(Some((value, next)))
}

fn bulk(data: &[u8], at: usize, length: &str) -> Result<Option<(Value, usize)>, Foreign> {
    let length = number(length, BULK_MAX)?;
    if data.len() < at + length + 2 {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&data[at..at + length]).into_owned();
    Ok(Some((Value::Text(text), at + length + 2)))
}

fn items(data: &[u8], mut at: usize, kind: u8, count: &str, depth: u32) -> Result<Option<(Value, usize)>, Foreign> {
    let count = number(count, ITEMS_MAX)?;
    let mut items = Vec::new();
    for _ in 0..count * if kind == b'%' { 2 } else { 1 } {
        match parse_at(data, at, depth + 1)? {
            None => return Ok(None),
            Some((item, next)) => {
                items.push(item);
                at = next;
            }
        }
    }
    let value = match kind {
        b'>' => Value::Push(items),
        b'%' => Value::Map(items),
        _ => Value::Array(items),
    };
    Ok(Some((value, at)))
}

fn number(text: &str, most: usize) -> Result<usize, Foreign> {
    text.parse().ok().filter(|number| *number <= most).ok_or_else(|| foreign(text.as_bytes()))
}

fn foreign(data: &[u8]) -> Foreign {
    Foreign(String::from_utf8_lossy(&data[..data.len().min(40)]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: &str, text: &str) -> Value {
        Value::Failure { code: code.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_request_is_an_array_of_bulk_strings() {
        let mut output = Vec::new();
        encode(&mut output, &["LOCK", "\u{e4}"]);
        assert_eq!(output, "*2\r\n$4\r\nLOCK\r\n$2\r\n\u{e4}\r\n".as_bytes());
    }

    #[test]
    fn each_kind_of_answer_is_read() {
        for (bytes, value) in [
            ("+OK\r\n", Value::Word("OK".into())),
            ("-LIMIT too many\r\n", failure("LIMIT", "too many")),
            ("-NOTHELD\r\n", failure("NOTHELD", "")),
            (":-7\r\n", Value::Number(-7)),
            ("_\r\n", Value::Null),
            ("$-1\r\n", Value::Null),
            ("$2\r\n\r\n\r\n", Value::Text("\r\n".into())),
            ("*1\r\n:1\r\n", Value::Array(vec![Value::Number(1)])),
            ("%1\r\n+a\r\n:1\r\n", Value::Map(vec![Value::Word("a".into()), Value::Number(1)])),
            (">1\r\n+lost\r\n", Value::Push(vec![Value::Word("lost".into())])),
        ] {
            assert_eq!(parse(bytes.as_bytes()), Ok(Some((value, bytes.len()))), "{:?}", bytes);
        }
    }

    #[test]
    fn an_answer_that_is_not_complete_is_waited_for() {
        let bytes = b"%1\r\n$1\r\na\r\n*2\r\n:1\r\n$3\r\nabc\r\n";
        for end in 0..bytes.len() {
            assert_eq!(parse(&bytes[..end]), Ok(None), "{} bytes", end);
        }
        assert!(matches!(parse(bytes), Ok(Some((_, length))) if length == bytes.len()));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for bytes in ["HTTP/1.1 400\r\n", "\r\n", "$9999999999\r\n", "*x\r\n", ":\r\n", "*-2\r\n"] {
            assert!(parse(bytes.as_bytes()).is_err(), "{:?}", bytes);
        }
        let deep = "*1\r\n".repeat(100_000);
        assert!(parse(deep.as_bytes()).is_err());
    }
}
