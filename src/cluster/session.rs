//! The session of scheduler and executors: the functions and options of every session, so that a plan means there what it meant where it was made.

use super::codec::Codec;
use super::connect_file::ConnectFile;
use super::tls;
use crate::engine::parts::{NO_LAKE, for_cluster, session_state};
use ballista_core::config::BallistaConfig;
use ballista_core::extension::SessionConfigExt;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::session_state::SessionState;
use datafusion::prelude::SessionConfig;
use std::sync::Arc;

/// Ballista undoes a broadcast of a side that is not known to have fewer bytes than this. The client decides what is broadcast ([`distributable`](super::distributable)).
pub(crate) const BROADCAST_MAX: usize = 1 << 40;

/// The largest message between members: a plan of 1,024 partitions has some MB.
pub(crate) const MESSAGE_MAX: usize = 64 << 20;

/// Adds Ballista's options to those of a session, and the keys that its connections need.
pub(crate) fn configure(config: SessionConfig, keys: &ConnectFile) -> SessionConfig {
    config
        .with_option_extension(BallistaConfig::default())
        .with_ballista_physical_extension_codec(Arc::new(Codec::default()))
        .with_ballista_broadcast_join_threshold_bytes(BROADCAST_MAX)
        .with_ballista_adaptive_query_planner(false)
        .with_ballista_grpc_client_max_message_size(MESSAGE_MAX)
        .with_ballista_use_tls(true)
        .with_ballista_override_create_grpc_client_endpoint(tls::override_endpoint(keys))
}

/// The session of a process of a cluster, with so many threads and so much memory.
pub(crate) fn state(
    threads: usize,
    memory: Option<usize>,
    runtime: Arc<RuntimeEnv>,
    keys: &ConnectFile,
) -> SessionState {
    let state = session_state(threads, memory, NO_LAKE, runtime);
    for_cluster(state, threads, |config| configure(config, keys))
}
