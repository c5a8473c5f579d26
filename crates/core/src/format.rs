//! Files of weights, over `Read` and `Write`. Today one: our own.

pub mod native;
