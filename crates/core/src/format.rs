//! Files of our own, over `Read` and `Write`: weights and exact solutions.

pub mod native;
pub mod solution;
