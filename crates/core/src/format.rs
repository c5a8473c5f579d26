//! File formats over `Read`, `Write` and `Seek`: our models, packed models and exact solutions,
//! weights of other programs, episode records, and replays of 2048verse.com.
//!
//! To add a format, write a file here with a typed error, a page in `docs/formats/` and a target in
//! `fuzz/`. Weights of another program are a variant of `Program` and `Foreign` in `foreign.rs`, of
//! `Kind` in `error/convert.rs` of the lab, and of `WeightFormatArg` in `args.rs` of the command line.

pub mod demo;
pub mod episode;
pub mod floats;
pub mod foreign;
pub mod framework;
pub mod native;
pub mod packed;
pub mod scan;
pub mod solution;
pub mod tdl;
pub mod verse;
