//! tls: what makes a connection one with TLS 1.2 or 1.3.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use crate::address::Tls;
use crate::socket::{is_later, Raw};

#[derive(Debug)]
pub(crate) struct Session(ClientConnection);

impl Session {
    /// Shakes hands, within the time-outs of the connection.
    pub(crate) fn begin(raw: &mut Raw, tls: &Tls, host: &str) -> io::Result<Session> {
        let name = if tls.name.is_empty() { host } else { &tls.name };
        let name = ServerName::try_from(name.to_owned()).map_err(broken)?;
        let mut connection = ClientConnection::new(Arc::new(config(tls)?), name).map_err(broken)?;
        connection.set_buffer_limit(None);
        while connection.is_handshaking() {
            connection.complete_io(raw)?;
        }
        Ok(Session(connection))
    }

    /// As `Link::send`. What could not be sent stays here.
    pub(crate) fn send(&mut self, raw: &mut Raw, output: &mut Vec<u8>) -> io::Result<bool> {
        self.0.writer().write_all(output)?;
        output.clear();
        while self.0.wants_write() {
            match self.0.write_tls(raw) {
                Ok(_) => {}
                Err(error) if is_later(&error) => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// What the daemon said by these bytes.
    pub(crate) fn heard(&mut self, mut data: &[u8]) -> io::Result<Vec<u8>> {
        let mut heard = Vec::new();
        while !data.is_empty() {
            self.0.read_tls(&mut data)?;
            self.0.process_new_packets().map_err(broken)?;
            match self.0.reader().read_to_end(&mut heard) {
                Err(error) if !is_later(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(heard)
    }
}

/// Reads the files, anew for each connection: they may have been replaced.
fn config(tls: &Tls) -> io::Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = versions.map_err(broken)?.with_root_certificates(authorities(&tls.ca)?);
    if tls.certificate.is_empty() {
        return Ok(builder.with_no_client_auth());
    }
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(|error| of_file(&tls.key, error))?;
    builder.with_client_auth_cert(certificates(&tls.certificate)?, key).map_err(broken)
}

fn authorities(ca: &str) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let found = match ca {
        "" | "system" => rustls_native_certs::load_native_certs().certs,
        path => certificates(path)?,
    };
    roots.add_parsable_certificates(found);
    if roots.is_empty() {
        return Err(broken(format!("{:?} has no certificate of an authority in PEM", ca)));
    }
    Ok(roots)
}

fn certificates(path: &str) -> io::Result<Vec<CertificateDer<'static>>> {
    let found = CertificateDer::pem_file_iter(path).map_err(|error| of_file(path, error))?;
    found.collect::<Result<_, _>>().map_err(|error| of_file(path, error))
}

fn of_file(path: &str, error: rustls::pki_types::pem::Error) -> io::Error {
    broken(format!("{}: {}", path, error))
}

fn broken(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
