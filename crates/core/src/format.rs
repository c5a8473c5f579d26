//! File formats over `Read`, `Write` and `Seek`: our models and exact solutions, weights of other
//! programs, and episode records.

pub mod demo;
pub mod episode;
pub mod floats;
pub mod foreign;
pub mod framework;
pub mod native;
pub mod scan;
pub mod solution;
pub mod tdl;
