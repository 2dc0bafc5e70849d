//! What is said of data files that are damaged, gone, or not to be read.

use crate::error::Error;

/// Wrong bytes in a data file, as the Parquet reader finds them, which does not know the file's name.
pub(super) fn of_parquet(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    use datafusion::parquet::errors::ParquetError;
    let found = error.downcast_ref::<ParquetError>();
    match found {
        Some(found) => Some(damaged(&found.to_string())),
        None => of_parquet(error.source()?),
    }
}

/// DataFusion names the file where it could not read its footer.
pub(super) fn damaged(reason: &str) -> String {
    const FOOTER: &str = "Failed to fetch metadata for file ";
    let named = reason.split_once(FOOTER);
    match named.and_then(|(_, rest)| rest.split_once(": ")) {
        Some((path, why)) => format!(
            "damaged data file /{} (`iolode lake check` finds all of them): {}",
            path.trim_start_matches('/'),
            why.trim_start_matches("Object Store error: ")
                .trim_start_matches("Generic LocalFileSystem error: ")
        ),
        None => format!("damaged data file, which `iolode lake check` names: {reason}"),
    }
}

/// The file that the file system did not let be read, and its reason. Only wrong bytes are damage.
pub(super) fn unread(text: &str) -> Option<String> {
    const TRIED: [&str; 4] = [
        "Unable to open file ",
        "Unable to read data from file ",
        "Unable to access metadata for ",
        "Error seeking file ",
    ];
    let tried = |tried: &&str| text.split_once(*tried);
    let (_, rest) = TRIED.iter().find_map(tried)?;
    let (path, code) = rest.split_once(" (os error ")?;
    let (path, _) = path.rsplit_once(": ")?;
    let code = code.split_once(')')?.0.parse().ok()?;
    let reason = std::io::Error::from_raw_os_error(code);
    Some(Error::io(path, "cannot read", reason).to_string())
}

/// What is said of a file that is not there.
pub(super) fn gone(path: &str) -> String {
    format!(
        "/{}: the file is gone; ask again if a vacuum removed it meanwhile, else `iolode lake check` finds what else is missing",
        path.trim_start_matches('/')
    )
}
