//! Any text as site.toml: read or refused in one line.
#![no_main]

use iolode::lake::SiteFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match SiteFile::parse(text) {
        Ok(site) => {
            let _ = site
                .site()
                .map(|site| site.file_system("/scratch").to_string());
        }
        Err(e) => assert!(!e.to_string().contains('\n'), "more than one line: {e}"),
    }
});
