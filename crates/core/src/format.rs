//! Files over `Read`, `Write` and `Seek`: weights and exact solutions of our own, weights of others, and the records
//! of games.

pub mod demo;
pub mod episode;
pub mod floats;
pub mod foreign;
pub mod framework;
pub mod native;
pub mod scan;
pub mod solution;
pub mod tdl;
