//! Files, over `Read` and `Write`: weights, exact solutions, and the records of games.

pub mod episode;
pub mod native;
pub mod solution;
