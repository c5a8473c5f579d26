//! Seals: evidence that the spawns of recorded games were drawn by a referee, not chosen.
//!
//! A referee draws a [`Secret`] of 256 bits from the operating system. Before the first game it
//! publishes a commitment, SHA-256 of the secret and the [`MatchTerms`] of the match; after the last
//! game it reveals the secret in a [`Seal`], a JSON file beside the records. With the secret, a
//! judge draws every spawn of every game again.
//!
//! Spawns of game n come from the ChaCha20 stream with the secret as key and n as nonce. Each spawn
//! takes the next 256 bits of it as the seed of a new [`Rng`], which then makes one draw. So no
//! number of observed spawns tells anything about later ones: the generator of the core alone could
//! be reconstructed from a few of its outputs. The stream depends on nothing else: not on the moves
//! of the player, nor on other games.
//!
//! Records of an evaluation have a seal as well, which says that it is the player's own: see
//! `own.rs`.
//!
//! docs/referee.md says what a seal proves, and what it does not.

pub(crate) mod own;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use afterstate::game::{After, Game, Shape, Spawn};
use afterstate::random::Rng;
use chacha20::ChaCha20Rng;
use rand_core::{Rng as _, SeedableRng};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::LabError;
use crate::disk::{can_be_written, hex, replace};
use crate::error::SealError;
use crate::recorder::EVALUATED;
use crate::tables;
use crate::text::without_mark;
pub use own::SeededSpawns;

/// The first words of a seal and of the text of a commitment.
const FORMAT: &str = "afterstate-seal";
/// Changes whenever the same secret gives other spawns, or the commitment binds something else.
/// The commitment of version 1 binds neither the program nor the limit of a move.
const VERSION: u32 = 2;
/// The kinds of breaches, by which a player may break games off.
pub(crate) const BREACHES: [&str; 6] = [
    "illegal-move",
    "timeout",
    "exit",
    "flood",
    "wrong-word",
    "forfeit",
];
/// The largest seal that is read: it names each game that was broken off, in up to 8 bytes.
const LARGEST: u64 = 16 << 20;
/// The most numbers that a player draws for a move: a policy needs one.
const MOST_DRAWS: u32 = 16;
/// The most games of a match.
pub const MAX_GAMES: u64 = 1_000_000;

/// 256 bits that nobody can guess.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Secret {
    /// Draws one from the operating system.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn new() -> Result<Self, LabError> {
        let mut bits = [0; 32];
        getrandom::fill(&mut bits).map_err(|error| LabError::NoRandomness(error.to_string()))?;
        Ok(Self(bits))
    }

    /// In 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    /// The inverse of [`Secret::hex`].
    pub fn parse(digits: &str) -> Option<Self> {
        let mut bits = [0; 32];
        if digits.len() != 2 * bits.len() || !digits.is_ascii() {
            return None;
        }
        for (at, byte) in bits.iter_mut().enumerate() {
            *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        // A sign would be accepted above, and the digits have one spelling.
        let secret = Self(bits);
        (secret.hex() == digits).then_some(secret)
    }

    /// The spawns of a game.
    pub fn spawns(&self, number: u64) -> SecretSpawns {
        let mut stream = ChaCha20Rng::from_seed(self.0);
        stream.set_stream(number);
        SecretSpawns(stream)
    }
}

/// The spawns of one game, in turn.
pub struct SecretSpawns(ChaCha20Rng);

impl SecretSpawns {
    /// Draws the next spawn: its cell and its tile.
    pub fn draw<G: Game>(&mut self, game: &G, after: After<G::Board>) -> (usize, Spawn) {
        let mut seed = [0; 32];
        self.0.fill_bytes(&mut seed);
        game.draw_spawn(after, &mut Rng::from_seed(seed))
    }
}

/// The spawns of one game that a seal tells.
pub enum SealedSpawns {
    /// Those of a referee.
    Secret(Box<SecretSpawns>),
    /// Those of an evaluation.
    Seeded(SeededSpawns),
}

impl SealedSpawns {
    /// Draws the next spawn: its cell and its tile.
    pub fn draw<G: Game>(&mut self, game: &G, after: After<G::Board>) -> (usize, Spawn) {
        match self {
            Self::Secret(spawns) => spawns.draw(game, after),
            Self::Seeded(spawns) => spawns.draw(game, after),
        }
    }
}

/// Who drew the spawns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SealKind {
    /// A referee, from a secret.
    #[default]
    Referee,
    /// The player itself, from a seed that it knew.
    Own,
}

impl SealKind {
    fn is_referee(&self) -> bool {
        *self == Self::Referee
    }
}

/// What a commitment binds besides the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchTerms {
    /// The program that draws the spawns, with its version.
    pub program: String,
    /// The game.
    pub game: String,
    /// The board.
    pub shape: Shape,
    /// The number of games.
    pub games: u64,
    /// The limit of a move, in milliseconds.
    pub time_ms: u64,
}

/// This program with its version.
pub(crate) fn program() -> String {
    format!("afterstate {}", env!("CARGO_PKG_VERSION"))
}

impl MatchTerms {
    /// SHA-256 of the terms and the secret, in hexadecimal digits.
    pub fn commitment(&self, secret: &Secret) -> String {
        self.commitment_of(VERSION, secret)
    }

    /// The commitment of a version of the format.
    fn commitment_of(&self, version: u32, secret: &Secret) -> String {
        let Self {
            program,
            game,
            shape,
            games,
            time_ms,
        } = self;
        let secret = secret.hex();
        let text = match version {
            1 => {
                format!("{FORMAT} 1\ngame {game}\nboard {shape}\ngames {games}\nsecret {secret}\n")
            }
            _ => format!(
                "{FORMAT} {version}\nprogram {program}\ngame {game}\nboard {shape}\ngames {games}\n\
                 time_ms {time_ms}\nsecret {secret}\n"
            ),
        };
        hex(&Sha256::digest(text))
    }
}

/// A seal, as its file has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// Always `afterstate-seal`.
    pub format: String,
    /// The version of the format, and of the way from the secret to the spawns.
    pub version: u32,
    /// The program that wrote it, with its version.
    pub program: String,
    /// Who drew the spawns.
    #[serde(default, skip_serializing_if = "SealKind::is_referee")]
    pub kind: SealKind,
    /// What the player's own seal says about itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// The game.
    pub game: String,
    /// The board.
    pub board: String,
    /// The number of games that was committed to.
    pub games: u64,
    /// The seed, in the player's own seal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// How many numbers the player drew from the stream of the seed for each of its moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draws_per_move: Option<u32>,
    /// The limit of a move, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub time_ms: u64,
    /// The commitment that was published before the first game; empty in the player's own seal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub commitment: String,
    /// The secret; empty in the player's own seal.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub secret: String,
    /// The digest of the file of records.
    pub records_sha256: String,
    /// The command of the player.
    pub player: Vec<String>,
    /// When the first game began.
    pub started: String,
    /// When the last game ended.
    pub finished: String,
    /// The games that ended because the player broke a rule, by the kind of the breach. All others
    /// were played until no slide was legal.
    pub broken: BTreeMap<String, Vec<u64>>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Seal {
    /// A seal of this version and program.
    pub(crate) fn new(terms: &MatchTerms, secret: &Secret) -> Self {
        Self {
            commitment: terms.commitment(secret),
            secret: secret.hex(),
            ..Self::of_terms(terms)
        }
    }

    /// A seal without a source of spawns.
    fn of_terms(terms: &MatchTerms) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            program: terms.program.clone(),
            kind: SealKind::Referee,
            says: None,
            seed: None,
            draws_per_move: None,
            game: terms.game.clone(),
            board: terms.shape.to_string(),
            games: terms.games,
            time_ms: terms.time_ms,
            commitment: String::new(),
            secret: String::new(),
            records_sha256: String::new(),
            player: Vec::new(),
            started: String::new(),
            finished: String::new(),
            broken: BTreeMap::new(),
        }
    }

    /// The path of the seal of a file of records: its name with `.seal.json` appended. A link to
    /// records has no seal of its own.
    pub fn path_beside(records: &Path) -> PathBuf {
        if records.is_symlink()
            && let Ok(file) = records.canonicalize()
        {
            return Self::path_beside(&file);
        }
        let mut name = records.file_name().unwrap_or_default().to_owned();
        name.push(".seal.json");
        records.with_file_name(name)
    }

    /// Reads the seal beside a file of records, if there is one.
    ///
    /// # Errors
    /// When it cannot be read, or is not a seal.
    pub fn beside(records: &Path) -> Result<Option<Self>, LabError> {
        let path = Self::path_beside(records);
        path.exists().then(|| Self::open(&path)).transpose()
    }

    /// Reads a seal.
    ///
    /// # Errors
    /// When it cannot be read, or is not a seal.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        let mut text = Vec::new();
        // A pipe would block for ever.
        tables::open(path)
            .and_then(|(file, _)| file.take(LARGEST + 1).read_to_end(&mut text))
            .map_err(LabError::file("read", path))?;
        Self::parse(&text).map_err(|source| LabError::Seal {
            path: path.to_owned(),
            source,
        })
    }

    /// Parses a seal. Nothing in it can be trusted, but its numbers are within bounds.
    fn parse(text: &[u8]) -> Result<Self, SealError> {
        if text.len() as u64 > LARGEST {
            return Err(SealError::TooLarge { most: LARGEST });
        }
        let seal: Self = serde_json::from_slice(without_mark(text))?;
        let wrong = |key, found: &dyn fmt::Display, expected: String| {
            let found: String = found.to_string().chars().take(80).collect();
            Err(SealError::Value {
                key,
                found,
                expected,
            })
        };
        if seal.format != FORMAT {
            return wrong("format", &seal.format, FORMAT.to_owned());
        }
        if !(1..=VERSION).contains(&seal.version) {
            return wrong("version", &seal.version, format!("1 to {VERSION}"));
        }
        if seal.shape().is_none() {
            let expected = "ROWSxCOLUMNS, each from 2 to 5".to_owned();
            return wrong("board", &seal.board, expected);
        }
        let most = match seal.kind {
            SealKind::Referee => MAX_GAMES,
            SealKind::Own => u64::from(u32::MAX),
        };
        if !(1..=most).contains(&seal.games) {
            return wrong("games", &seal.games, format!("1 to {most}"));
        }
        for (key, time) in [("started", &seal.started), ("finished", &seal.finished)] {
            if humantime::parse_rfc3339(time).is_err() {
                let expected = "a time such as 2026-11-19T22:00:00Z".to_owned();
                return wrong(key, time, expected);
            }
        }
        let mut kinds = seal.broken.keys();
        if let Some(kind) = kinds.find(|kind| !BREACHES.contains(&kind.as_str())) {
            return wrong("broken", kind, format!("one of {}", BREACHES.join(", ")));
        }
        match (seal.kind, seal.secret(), seal.seed, seal.draws_per_move) {
            (SealKind::Referee, Some(_), None, None) => Ok(seal),
            (SealKind::Own, None, Some(_), Some(0..=MOST_DRAWS)) => Ok(seal),
            (SealKind::Referee, None, ..) => {
                let expected = "64 hexadecimal digits in lower case".to_owned();
                wrong("secret", &seal.secret, expected)
            }
            _ => {
                let found = format!("{:?}", seal.kind).to_lowercase();
                let expected = format!(
                    "`referee` with a secret and without a seed, or `own` with a seed, without a \
                     secret and with 0 to {MOST_DRAWS} for `draws_per_move`"
                );
                wrong("kind", &found, expected)
            }
        }
    }

    /// Writes the seal.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn write(&self, path: &Path) -> Result<(), LabError> {
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from);
        text.and_then(|text| replace(path, (text + "\n").as_bytes()))
            .map_err(LabError::file("write", path))
    }

    /// Checks that records of this name may be written, and a seal beside them: there is no seal yet,
    /// or that of an evaluation, which can be played again.
    ///
    /// # Errors
    /// When there are the records of a match, or another file has the name of the seal.
    pub(crate) fn check_place(records: &Path) -> Result<(), LabError> {
        let path = Self::path_beside(records);
        if matches!(Self::open(&path), Ok(seal) if seal.kind == SealKind::Referee) {
            return Err(LabError::Sealed(records.to_owned()));
        }
        let is_seal = |path: &Path| Self::open(path).is_ok();
        match can_be_written(&path, is_seal).map_err(LabError::file("write", &path))? {
            true => Ok(()),
            false => Err(LabError::NotSeal(path)),
        }
    }

    /// The board.
    pub fn shape(&self) -> Option<Shape> {
        let (rows, cols) = crate::recipe::parse_board(&self.board).ok()?;
        Shape::new(rows, cols)
    }

    /// The secret.
    pub(crate) fn secret(&self) -> Option<Secret> {
        Secret::parse(&self.secret)
    }

    /// The spawns of a game.
    pub(crate) fn spawns(&self, number: u64) -> Option<SealedSpawns> {
        match self.kind {
            SealKind::Referee => {
                let spawns = self.secret()?.spawns(number);
                Some(SealedSpawns::Secret(Box::new(spawns)))
            }
            SealKind::Own => {
                let (seed, draws) = (self.seed?, self.draws_per_move?);
                let spawns = SeededSpawns::new(seed, draws, number);
                Some(SealedSpawns::Seeded(spawns))
            }
        }
    }

    /// The commitment that belongs to its secret and terms.
    pub(crate) fn expected_commitment(&self) -> Option<String> {
        let terms = MatchTerms {
            program: self.program.clone(),
            game: self.game.clone(),
            shape: self.shape()?,
            games: self.games,
            time_ms: self.time_ms,
        };
        Some(terms.commitment_of(self.version, &self.secret()?))
    }
}

/// The text before the number of a game, in the name of the environment in its record.
const NUMBERED: &str = "referee-";

/// The names of both sides in the record of a game.
pub(crate) fn tag(player: &str, number: u64) -> String {
    format!("{player}:{NUMBERED}{number}")
}

/// The number of a game of a match or an evaluation, by the names in its record.
pub(crate) fn number_of(tag: &str) -> Option<u64> {
    let mut words = [NUMBERED, EVALUATED].into_iter();
    words.find_map(|word| tag.rsplit_once(word)?.1.parse().ok())
}

#[cfg(test)]
mod tests;
