//! Small reads of what Linux holds in memory are done where they are asked for.
//!
//! The object store has a thread of its own for each read, because a read may wait for a disk. In a lake that was asked before hardly any
//! does, and waking a thread takes longer than copying some pages. Linux says at once when it would have to wait (`RESOLVE_CACHED`,
//! `RWF_NOWAIT`): then, and where it or the file system knows nothing of this, the object store reads as before.

use datafusion::object_store::local::LocalFileSystem;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};
use futures::stream::BoxStream;
use std::fmt::{Display, Formatter};
use std::ops::Range;

/// More bytes than these take so long to copy that a thread may as well be woken for them.
const SMALL: u64 = 1 << 20;

/// The files of this machine.
#[derive(Debug, Default)]
pub(crate) struct LocalFiles(LocalFileSystem);

impl Display for LocalFiles {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl LocalFiles {
    /// A pipe or a device in the place of a file would be waited for without end. What is missing, the object store says.
    fn refuse_pipe(&self, location: &Path) -> Result<()> {
        let path = self.0.path_to_filesystem(location)?;
        match std::fs::metadata(&path) {
            Ok(meta) if !meta.is_file() && !meta.is_dir() => Err(Error::Generic {
                store: "LocalFileSystem",
                source: format!("{} is not a regular file", path.display()).into(),
            }),
            _ => Ok(()),
        }
    }

    /// Refuses a place that takes no files. Where the directory cannot be written to, such as /proc, the object store tries without end.
    fn refuse_unwritable(&self, location: &Path) -> Result<()> {
        let path = self.0.path_to_filesystem(location)?;
        let directory = path.parent().unwrap_or(&path);
        let tried = std::fs::create_dir_all(directory)
            .and_then(|()| tempfile::tempfile_in(directory).map(drop));
        tried.map_err(|e| Error::Generic {
            store: "LocalFileSystem",
            source: format!("cannot write to {}: {e}", directory.display()).into(),
        })
    }
}

#[async_trait::async_trait]
impl ObjectStore for LocalFiles {
    async fn get_ranges(
        &self,
        location: &Path,
        ranges: &[Range<u64>],
    ) -> Result<Vec<bytes::Bytes>> {
        let total = ranges.iter().try_fold(0u64, |total, range| {
            total.checked_add(range.end.checked_sub(range.start)?)
        });
        if total.is_some_and(|total| total <= SMALL) {
            let cached = read_cached(&self.0.path_to_filesystem(location)?, ranges);
            if let Some(cached) = cached {
                return Ok(cached);
            }
        }
        self.refuse_pipe(location)?;
        self.0.get_ranges(location, ranges).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.refuse_pipe(location)?;
        self.0.get_opts(location, options).await
    }

    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.refuse_unwritable(location)?;
        self.0.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.refuse_unwritable(location)?;
        self.0.put_multipart_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.0.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.0.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.0.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.0.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.0.rename_opts(from, to, options).await
    }
}

/// These parts of a file if that takes no waiting; `None` also where anything is amiss, of which the object store knows what to say.
#[cfg(target_os = "linux")]
fn read_cached(path: &std::path::Path, ranges: &[Range<u64>]) -> Option<Vec<bytes::Bytes>> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    use rustix::io::{ReadWriteFlags, preadv2};
    use std::io::IoSliceMut;

    // A pipe is opened without waiting, and then cannot be read at a place.
    let to_read = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = openat2(CWD, path, to_read, Mode::empty(), ResolveFlags::CACHED).ok()?;
    let part = |range: &Range<u64>| {
        let mut part = vec![0; usize::try_from(range.end - range.start).ok()?];
        let whole = &mut [IoSliceMut::new(&mut part)];
        let read = preadv2(&file, whole, range.start, ReadWriteFlags::NOWAIT).ok()?;
        (read == part.len()).then(|| part.into())
    };
    ranges.iter().map(part).collect()
}

#[cfg(not(target_os = "linux"))]
fn read_cached(_: &std::path::Path, _: &[Range<u64>]) -> Option<Vec<bytes::Bytes>> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::executor::block_on;

    /// A file of 5,000 bytes that say where they are, and its address.
    fn file() -> (tempfile::NamedTempFile, Path, Vec<u8>) {
        let bytes: Vec<u8> = (0..5000u32).map(|at| (at % 251) as u8).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        let location = Path::from_absolute_path(file.path()).unwrap();
        (file, location, bytes)
    }

    #[test]
    fn parts_of_a_file_are_its_bytes() {
        let (_file, location, bytes) = file();
        let ranges = [0..1, 4990..5000, 17..17, 100..4200];
        let read = block_on(LocalFiles::default().get_ranges(&location, &ranges)).unwrap();
        for (range, read) in ranges.iter().zip(read) {
            assert_eq!(read, bytes[range.start as usize..range.end as usize]);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_was_just_written_is_read_without_waiting() {
        let (file, _, bytes) = file();
        let read = read_cached(file.path(), &[10..20, 30..31]);
        // Not every file system can say whether it would wait.
        let refused = {
            use rustix::io::{Errno, ReadWriteFlags, preadv2};
            let file = std::fs::File::open(file.path()).unwrap();
            let mut byte = [0];
            let mut byte = [std::io::IoSliceMut::new(&mut byte)];
            preadv2(&file, &mut byte, 0, ReadWriteFlags::NOWAIT) == Err(Errno::OPNOTSUPP)
        };
        let expected = [&bytes[10..20], &bytes[30..31]].map(bytes::Bytes::copy_from_slice);
        assert_eq!(read, (!refused).then(|| expected.to_vec()));
    }

    #[test]
    fn what_cannot_be_read_is_told_as_the_object_store_tells_it() {
        let (_file, location, _) = file();
        let missing = Path::from("no/such/file");
        for (location, range) in [
            (&location, 4000..5001),
            (&location, 6000..6001),
            (&missing, 0..1),
        ] {
            let told = |store: &dyn ObjectStore| {
                let read = block_on(store.get_ranges(location, &[0..1, range.clone()]));
                read.unwrap_err().to_string()
            };
            assert_eq!(told(&LocalFiles::default()), told(&LocalFileSystem::new()));
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_directory_that_takes_no_files_is_refused_at_once() {
        let location = Path::from_absolute_path("/proc/rows.csv").unwrap();
        let store = LocalFiles::default();
        let put = block_on(store.put_opts(&location, "x".into(), PutOptions::default()));
        let error = put.unwrap_err().to_string();
        assert!(error.contains("cannot write to /proc: "), "{error}");
        let begun = block_on(store.put_multipart_opts(&location, PutMultipartOptions::default()));
        assert!(begun.is_err());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_pipe_is_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("part.parquet");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        let location = Path::from_absolute_path(&pipe).unwrap();
        let store = LocalFiles::default();
        let refused = [
            block_on(store.get_ranges(&location, &[0..1, 2..3])).unwrap_err(),
            block_on(store.get_opts(&location, GetOptions::default())).unwrap_err(),
        ];
        for error in refused {
            assert!(
                error
                    .to_string()
                    .ends_with("part.parquet is not a regular file"),
                "{error}"
            );
        }
    }
}
