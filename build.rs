//! Puts plotly.js, which draws the charts of a report, into the program: cut out of what the crate `plotly` carries, without MathJax, with the types of traces of our
//! charts alone, and compressed as the browser inflates it.

#[cfg(feature = "engine")]
#[path = "src/answer/report/bundle.rs"]
mod bundle;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/answer/report/bundle.rs");
    #[cfg(feature = "engine")]
    plotly_js::write();
}

#[cfg(feature = "engine")]
mod plotly_js {
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;
    use std::path::Path;

    const BEGIN: &str = "<script type=\"text/javascript\">";
    const END: &str = "</script>";

    /// The types of traces in charts, beside `scatter`, which every plotly.js has.
    const TRACES: [&str; 4] = ["bar", "box", "heatmap", "parcoords"];

    pub(super) fn write() {
        let scripts = plotly::Plot::offline_js_sources();
        let plotly = scripts
            .split_once(BEGIN)
            .and_then(|(_, rest)| rest.split_once(END))
            .map(|(script, _)| script)
            .filter(|script| script.trim_start().starts_with("/**\n* plotly.js v"))
            .expect("the first script of the crate plotly is plotly.js");
        let cut = crate::bundle::with_traces(plotly, &TRACES);
        if cut.is_none() {
            println!(
                "cargo::warning=plotly.js is built otherwise than known: pages have all of it, and are drawn later"
            );
        }
        let plotly = cut.as_deref().unwrap_or(plotly);
        let mut gzip = GzEncoder::new(vec![], Compression::best());
        gzip.write_all(plotly.as_bytes()).expect("memory takes it");
        let compressed = gzip.finish().expect("memory takes it");
        let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
        std::fs::write(Path::new(&out).join("plotly.min.js.gz"), compressed)
            .expect("cargo's directory can be written to");
    }
}
