//! Seals of the player's own records, as `eval --records` writes them.
//!
//! There is no referee and no secret: the seed is an argument of the evaluation, so the player
//! could know every spawn beforehand, and could try seeds until one was good. With the seed a judge
//! draws every spawn again. So such a seal shows that the file was not changed since, that the
//! spawns are those of the seed, and that none of the games 0 to n - 1 was left out; and it says
//! that it is the player's own.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use afterstate::game::{After, Game, Shape, Spawn};
use afterstate::random::Rng;

use super::{MatchTerms, Seal, SealKind, program};
use crate::LabError;
use crate::disk::sha256;
use crate::recorder::evaluation_rng;

/// What the seal says about itself.
const SAYS: &str = "The player's own seal, without a referee: the seed was known to the player \
    before the games. It shows that the records were not changed since, that their spawns are \
    those of the seed, and that the first games of the seed are all there. It does not show how \
    the moves were chosen.";

/// The spawns of one game of a seed, in turn.
pub struct SeededSpawns {
    rng: Rng,
    /// The numbers that the player drew before each spawn of a move.
    draws_per_move: u32,
    /// The initial tiles that have not spawned yet; `None` before the first spawn.
    initial: Option<usize>,
}

impl SeededSpawns {
    pub(super) fn new(seed: u64, draws_per_move: u32, number: u64) -> Self {
        Self {
            rng: evaluation_rng(seed, number),
            draws_per_move,
            initial: None,
        }
    }

    pub(super) fn draw<G: Game>(&mut self, game: &G, after: After<G::Board>) -> (usize, Spawn) {
        let initial = || game.rules().initial_tiles(game.shape());
        match self.initial.get_or_insert_with(initial) {
            0 => {
                for _ in 0..self.draws_per_move {
                    self.rng.bits();
                }
            }
            left => *left -= 1,
        }
        game.draw_spawn(after, &mut self.rng)
    }
}

/// An evaluation whose records are sealed.
pub(crate) struct OwnGames<'a> {
    pub(crate) game: &'a str,
    pub(crate) shape: Shape,
    pub(crate) games: u64,
    pub(crate) seed: u64,
    /// See [`crate::agent::Agent::draws_per_move`].
    pub(crate) draws_per_move: Option<u32>,
    pub(crate) player: &'a str,
    pub(crate) started: SystemTime,
    /// The digest of the records as they were written.
    pub(crate) records_sha256: String,
}

/// Writes the seal of records that were just written. Games that cannot be drawn again have no
/// seal, and an older one is removed.
///
/// The records are replaced first: if the process ends between the two, the digest in the older
/// seal tells. If another process has replaced the records meanwhile, this seal is removed again,
/// so that in the end there is one that fits, or none.
pub(crate) fn write(records: &Path, of: &OwnGames<'_>) -> Result<(), LabError> {
    let path = Seal::path_beside(records);
    let remove = || match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(LabError::file("remove", &path)(error))
        }
        _ => Ok(()),
    };
    let Some(draws_per_move) = of.draws_per_move.filter(|_| of.games > 0) else {
        return remove();
    };
    let time = |time| humantime::format_rfc3339_seconds(time).to_string();
    let seal = Seal {
        kind: SealKind::Own,
        says: Some(SAYS.to_owned()),
        seed: Some(of.seed),
        draws_per_move: Some(draws_per_move),
        records_sha256: of.records_sha256.clone(),
        player: vec![of.player.to_owned()],
        started: time(of.started),
        finished: time(SystemTime::now()),
        ..Seal::of_terms(&MatchTerms {
            program: program(),
            game: of.game.to_owned(),
            shape: of.shape,
            games: of.games,
            time_ms: 0,
        })
    };
    seal.write(&path)?;
    let is_ours = Seal::open(&path).is_ok_and(|found| found == seal);
    let digest = sha256(records).map_err(LabError::file("read", records))?;
    match is_ours && digest != seal.records_sha256 {
        true => remove(),
        false => Ok(()),
    }
}
