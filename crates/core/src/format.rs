//! File formats over `Read`, `Write` and `Seek`: our models, packed models and exact solutions,
//! weights of other programs, episode records, and replays of 2048verse.com.

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
