//! Files over `Read`, `Write` and `Seek`: weights and exact solutions of our own, and weights of others.

pub mod demo;
pub mod floats;
pub mod foreign;
pub mod framework;
pub mod native;
pub mod scan;
pub mod solution;
pub mod tdl;
