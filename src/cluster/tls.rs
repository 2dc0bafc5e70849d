//! Mutual TLS of all ports, and the version that both sides must have.
//!
//! Each side shows the certificate of the cluster and accepts no other. Every request to the scheduler names the version of who asks.

use super::VERSION;
use super::connect_file::{ConnectFile, NAME};
use crate::error::{Error, Result};
use ballista_core::extension::EndpointOverrideFn;
use std::sync::Arc;
use std::time::Duration;
use tonic::metadata::MetadataValue;
use tonic::transport::{
    Certificate, Channel, ClientTlsConfig, Endpoint, Identity, Server, ServerTlsConfig,
};
use tonic::{Request, Status};

/// The header that names the version of who asks.
const HEADER: &str = "iolode-version";

/// A peer that is gone without a word is noticed after two of these.
const PING: Duration = Duration::from_secs(5);

/// Time to make a connection in, and again to agree on its keys.
const CONNECT: Duration = Duration::from_secs(5);

/// A server that speaks to members of the cluster alone.
///
/// # Errors
/// [`Error::Invalid`] if the keys cannot be used.
pub(crate) fn server(keys: &ConnectFile) -> Result<Server> {
    let tls = ServerTlsConfig::new()
        .identity(Identity::from_pem(&keys.certificate, &keys.key))
        .client_ca_root(Certificate::from_pem(&keys.authority))
        .timeout(CONNECT);
    let server = Server::builder().tls_config(tls).map_err(refused)?;
    Ok(server
        .tcp_nodelay(true)
        .http2_keepalive_interval(Some(PING))
        .http2_keepalive_timeout(Some(PING)))
}

/// An address of a member of the cluster.
///
/// # Errors
/// [`Error::Invalid`] if the keys cannot be used.
pub(crate) fn endpoint(keys: &ConnectFile, endpoint: Endpoint) -> Result<Endpoint> {
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(&keys.authority))
        .identity(Identity::from_pem(&keys.certificate, &keys.key))
        .domain_name(NAME)
        .timeout(CONNECT);
    let endpoint = endpoint.tls_config(tls).map_err(refused)?;
    Ok(endpoint
        .tcp_nodelay(true)
        .connect_timeout(CONNECT)
        .http2_keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .keep_alive_while_idle(true))
}

/// The same, as Ballista asks for it.
pub(crate) fn override_endpoint(keys: &ConnectFile) -> EndpointOverrideFn {
    let keys = keys.clone();
    Arc::new(move |plain| endpoint(&keys, plain).map_err(Into::into))
}

/// A connection to the scheduler, which is made when it is used and made again when it is lost.
///
/// # Errors
/// [`Error::Invalid`] if its address or the keys cannot be used.
pub(crate) fn scheduler(keys: &ConnectFile) -> Result<Channel> {
    let address = Endpoint::from_shared(format!("https://{}", keys.scheduler)).map_err(refused)?;
    Ok(endpoint(keys, address)?.connect_lazy())
}

fn refused(error: tonic::transport::Error) -> Error {
    let source = std::error::Error::source(&error).map(ToString::to_string);
    Error::Invalid(format!(
        "cluster: {}",
        source.unwrap_or_else(|| error.to_string())
    ))
}

/// Names the version of this program in a request.
pub(crate) fn with_version(mut request: Request<()>) -> std::result::Result<Request<()>, Status> {
    request
        .metadata_mut()
        .insert(HEADER, MetadataValue::from_static(VERSION));
    Ok(request)
}

/// Refuses a request of another version.
pub(crate) fn check_version(request: Request<()>) -> std::result::Result<Request<()>, Status> {
    let version = request.metadata().get(HEADER);
    let version = version.and_then(|version| version.to_str().ok());
    match version {
        Some(VERSION) => Ok(request),
        other => Err(Status::failed_precondition(format!(
            "this is a cluster of iolode {VERSION}, not of {}",
            other.unwrap_or("another program")
        ))),
    }
}
