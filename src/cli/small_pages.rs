//! Memory in pages of 4 KiB.
//!
//! The allocator asks for transparent huge pages: 2 MiB at a time, of which a thread that reads a few columns uses a part. Each of the threads that read, decode and
//! group keeps some. Without them a question takes two thirds of the memory and no more CPU seconds.

/// From now on this process gets no transparent huge pages. Where the system does not know them nothing changes.
#[cfg(target_os = "linux")]
pub(super) fn ask_for_them() {
    let _ = nix::sys::prctl::set_thp_disable(true);
}

#[cfg(not(target_os = "linux"))]
pub(super) fn ask_for_them() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn the_process_has_no_huge_pages() {
        super::ask_for_them();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("THP_enabled:"));
        // Linux before 5.0 does not say.
        assert!(line.is_none_or(|line| line.ends_with('0')), "{line:?}");
    }
}
