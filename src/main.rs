//! The program: everything is in [`iolode::cli`].

/// Queries and readers make many small allocations on many threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    iolode::cli::main()
}
