use serin::config::{self, checker::Unset, source::Source};
use std::path::Path;
#[test]
fn look() {
    let path = std::env::var("LOOK").unwrap_or("monitors.yaml".into());
    let bytes = std::fs::read(&path).unwrap();
    let s = Source::new(Path::new(&path), bytes, None);
    match config::load(&s, &|_| None, Unset::Warn) {
        Ok(l) => {
            for w in &l.warnings {
                println!("{w}\n");
            }
            println!("{:#?}", l.fleet.monitors.first());
        }
        Err(f) => {
            for w in &f.warnings {
                println!("{w}\n");
            }
            println!("{f}");
        }
    }
}
