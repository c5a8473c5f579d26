//! The program as people meet it: started as a process, judged by what it prints, leaves behind and
//! exits with. One binary with a module for each promise, because one links faster than eight.

mod bad_models;
mod bad_places;
mod bad_recipes;
mod bad_weights;
mod bench;
mod boards;
mod broken;
mod common;
mod convert;
mod deep;
mod documents;
mod examples;
mod figures;
mod format1;
mod further;
mod games;
mod help;
mod hostile;
mod interrupted;
mod judge;
mod merge;
mod numpy;
#[cfg(unix)]
mod pack;
mod play;
#[cfg(unix)]
mod referee;
mod replay;
mod review;
mod runs;
mod scores;
mod search;
mod serve;
mod solve;
mod sweep;
#[cfg(unix)]
mod teaching;
#[cfg(unix)]
mod tournament;
mod train;
mod trial;
mod tuples;
