//! The connections to executors, over which others and clients read their shuffle files: one to each, which is shared by all tasks, or by all partitions of an answer, and
//! made again when it is lost.

use super::session::MESSAGE_MAX;
use async_trait::async_trait;
use ballista_core::client::BallistaClient;
use ballista_core::client_pool::{BallistaClientPool, PooledClient};
use ballista_core::error::Result;
use ballista_core::extension::BallistaConfigGrpcEndpoint;
use ballista_core::utils::GrpcClientConfig;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A fetch that fails is tried so often again before the executor is taken for dead.
const RETRIES: u8 = 1;

/// Milliseconds between tries.
const RETRY_WAIT: u64 = 200;

/// By host and port.
#[derive(Default)]
pub(crate) struct Connections(Mutex<HashMap<(String, u16), BallistaClient>>);

impl std::fmt::Debug for Connections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Connections")
    }
}

impl Connections {
    /// The connection to an executor.
    ///
    /// # Errors
    /// If it cannot be reached, or is none of the cluster.
    pub(crate) async fn to(
        &self,
        host: &str,
        port: u16,
        endpoint: Option<Arc<BallistaConfigGrpcEndpoint>>,
    ) -> Result<BallistaClient> {
        let key = (host.to_string(), port);
        if let Some(client) = self.known(&key) {
            return Ok(client);
        }
        let client = BallistaClient::try_new(
            host,
            port,
            MESSAGE_MAX,
            true,
            endpoint,
            RETRIES,
            RETRY_WAIT,
            0,
            0,
        );
        Ok(self.keep(key, client.await?))
    }

    fn known(&self, key: &(String, u16)) -> Option<BallistaClient> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(key).cloned()
    }

    fn keep(&self, key: (String, u16), client: BallistaClient) -> BallistaClient {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(key).or_insert(client).clone()
    }
}

#[async_trait]
impl BallistaClientPool for Connections {
    async fn acquire(
        &self,
        host: &str,
        port: u16,
        _: &GrpcClientConfig,
        endpoint: Option<Arc<BallistaConfigGrpcEndpoint>>,
    ) -> Result<PooledClient> {
        let client = self.to(host, port, endpoint).await?;
        Ok(PooledClient::new(client, Box::new(|_| ())))
    }

    async fn evict_idle(&self) {}
}
