//! The same session on many nodes: a client's finished plan runs on Apache Ballista 55.
//!
//! The only module that names Ballista. What comes in is a physical plan that [`engine`](crate::engine) made for a cluster; what goes out are its rows. The plan is
//! made by the client, as in process, because a lake's version, named queries, users' functions and the rules that keep answers right live there. The scheduler cuts
//! it into stages, and executors run these, each after [`for_execution`](crate::engine::for_execution).
//!
//! ```text
//! client                          scheduler                         executors
//! Engine::placed
//!   client::ClusterRunner   --->  service::Service  <--- poll ---   executor
//!     plan, by codec::Codec         decodes, checks (allowed)         decodes, checks (allowed)
//!                                   stages, tasks           --->      stage::StageEngine
//!   rows <----------------------------------------- Flight ---------- shuffle files
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | `connect_file` | the address and keys of a cluster, in a file that only its owner may read |
//! | `tls` | mutual TLS of all ports, and the version that both sides must have |
//! | `distributable`, `opaque`, `aligned_union` | a plan as Ballista runs it right, or why it does not |
//! | `codec`, `parts`, `part_exec` | our nodes in a plan that is sent, and a plan as bytes |
//! | `allowed` | the nodes and data files that a plan may have |
//! | `session` | the session of scheduler and executors |
//! | `connections` | from executor to executor |
//! | `members` | the executors, and what they say of themselves |
//! | `control` | what a cluster says of itself and of its jobs |
//! | `owners` | which executor owns which OST |
//! | `jobs`, `stage_figures` | what the scheduler notes of the jobs that run |
//! | `by_ost` | which tasks an executor gets |
//! | `service` | the scheduler's port |
//! | [`scheduler`] | the process that cuts plans into stages and hands out tasks |
//! | `stage` | a stage as an executor runs it |
//! | [`executor`] | the process that runs stages |
//! | `failure` | a query's error on its way to the client |
//! | `job` | a plan sent, and its rows |
//! | `stage_exec` | a stage as EXPLAIN shows it |
//! | [`client`] | the runner of a session |
//! | [`ingest`], `convert_exec` | ranges of an ingest on a cluster |

mod aligned_union;
mod allowed;
mod by_ost;
pub mod client;
mod codec;
mod connect_file;
mod connections;
mod control;
mod convert_exec;
mod distributable;
pub mod executor;
mod failure;
pub mod ingest;
mod job;
mod jobs;
mod members;
mod opaque;
mod owners;
mod part_exec;
mod parts;
pub mod scheduler;
mod service;
mod session;
mod stage;
mod stage_exec;
mod stage_figures;
#[cfg(test)]
mod tests;
mod tls;
mod work_dir;

pub use connect_file::ConnectFile;
pub use control::{status, stop};
pub use members::{ClusterStatus, ExecutorStatus};

/// A program and its scheduler and executors must be of one version: plans have no format of their own that would outlast one.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
