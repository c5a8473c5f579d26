//! Models on disk: flat metadata that describes an agent, and its tables.
//!
//! The keys (docs/formats/native.md): `afterstate` (the format), `game`, `board`, `tuples`,
//! `symmetry`, `hint` (only if true), `stages`, `thresholds` and `promotion` (only with several
//! stages), `value`, `ties`, `rule`, `episodes`, and `recipe`, the whole
//! recipe of its training. A model converted from another program has no `episodes` and no
//! `recipe`, but `origin`, and `foreign`, which describes the original file.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use afterstate::format::floats::Float;
use afterstate::format::foreign::Foreign;
use afterstate::format::native::{Metadata, NativeError, StoredParts};
use afterstate::game::Shape;
use afterstate::ntuple::{Stages, TupleSet};
use afterstate::policy::Ties;

use crate::LabError;
use crate::agent::{Agent, StoredAgent, TrainableAgent, ntuple_agent};
use crate::boxed;
use crate::error::FileKind;
use crate::foreign::{self, ForeignWeights, Unplayable, Weights, playable};
use crate::games;
use crate::memory::MemoryBudget;
use crate::metadata::{
    FORMAT, Fields, PROMOTION, RECIPE, REDUNDANT, SOLUTION, STAGES, THRESHOLDS, TUPLES, from_word,
    of_today, word,
};
use crate::migrate::Format;
use crate::recipe::{Recipe, Rule, ValueOf, parse_board};
use crate::report::ModelInfo;
use crate::run;
use crate::spec::{self, AgentSpec, CONVOLUTIONS, DISCOUNT, DeepSpec, NTupleSpec};
use crate::tables::StoredTables;

/// A loaded model.
pub struct Model {
    /// Its specification.
    pub spec: AgentSpec,
    /// The recipe it was trained with, and what overrides changed ([`Recipe::title`]); `None` if
    /// another program trained it.
    pub recipe: Option<String>,
    /// What overrides changed in the recipe, each `key=value`.
    pub changed: Vec<String>,
    /// The games it was trained for; `None` if another program trained it.
    pub episodes: Option<u64>,
    /// The file it was read from.
    pub path: PathBuf,
    /// Whether an earlier version of this program wrote that file, without checksums: damage of its
    /// numbers is not always found.
    pub lacks_checksums: bool,
    /// Its agent.
    pub agent: Arc<dyn Agent>,
}

/// The model that is used if none is named: the network in the program for this game and board,
/// where there is one, or else that of the newest run in a folder.
pub fn default_model(runs: &Path, game: &str, shape: Shape) -> Option<PathBuf> {
    let boxed = boxed::of(game, shape).map(|boxed| boxed.path());
    boxed.or_else(|| run::newest(runs, game, shape))
}

/// A file with the weights of a model, of which only the header is read.
struct ModelFile {
    path: PathBuf,
    /// The other file of its run, if it was found in a run folder that has one.
    other: Option<PathBuf>,
    spec: AgentSpec,
    recipe: Option<Recipe>,
    episodes: Option<u64>,
    saved: StoredTables,
}

impl ModelFile {
    fn open(path: &Path) -> Result<Self, LabError> {
        Self::open_as(path, None)
    }

    /// Opens a file. Tables that do not say which cells they look at are those of the network `like`.
    fn open_as(path: &Path, like: Option<&AgentSpec>) -> Result<Self, LabError> {
        let (path, other) = if path.is_dir() {
            let found = run::model_of(path)?;
            let files = [run::checkpoint_of(path), run::model_path(path)];
            let other = files
                .into_iter()
                .find(|file| *file != found && file.exists());
            (found, other)
        } else {
            (path.to_owned(), None)
        };
        let weights = match boxed::named(&path) {
            Some(boxed) => Weights::Ours(boxed.open()?),
            None => Weights::open(&path)?,
        };
        let saved = match weights {
            Weights::Ours(saved) => saved,
            Weights::Theirs(theirs) => return Self::of_theirs(path, theirs, like),
        };
        let metadata = of_today(saved.metadata());
        if metadata.contains_key(SOLUTION) {
            return Err(LabError::Kind {
                path,
                wanted: FileKind::Model,
                found: FileKind::Solution,
                expected: "a model file or a run folder",
            });
        }
        let fields = Fields::new(&metadata, &path, |path, error| {
            LabError::model("read", path)(error)
        });
        fields.check_format(FORMAT)?;
        playable(&fields, &path)?;
        let spec = any_player(&fields)?;
        let episodes = match fields.has("origin") {
            true => None,
            false => Some(fields.get("episodes", "a number", |text| text.parse().ok())?),
        };
        let recipe = fields.recipe();
        Ok(Self {
            path,
            other,
            spec,
            recipe,
            episodes,
            saved,
        })
    }

    /// Verifies what playing does not read: a checkpoint that is damaged there is damaged.
    fn verify_rest(&self) -> Result<(), NativeError> {
        match self.saved.metadata().contains_key(run::PROGRESS) {
            true => self.saved.verify(),
            false => Ok(()),
        }
    }

    /// The error for content that cannot be read.
    fn unreadable(&self, error: NativeError) -> LabError {
        match (&self.other, error) {
            (Some(other), source @ NativeError::Damaged { .. }) => LabError::DamagedSave {
                path: self.path.clone(),
                source: Box::new(source),
                other: Some(other.clone()),
            },
            (_, error) => LabError::model("read", &self.path)(error),
        }
    }

    /// Weights of another program, which have no number of training games.
    fn of_theirs(
        path: PathBuf,
        theirs: ForeignWeights,
        like: Option<&AgentSpec>,
    ) -> Result<Self, LabError> {
        let ForeignWeights { file, foreign } = theirs;
        let player = theirs_alone(&foreign).or_else(|error| match like {
            Some(AgentSpec::NTuple(like)) if error.lacks_patterns() => theirs_as(&foreign, like),
            _ => Err(error),
        });
        let player = player.map_err(|source| LabError::Unplayable {
            path: path.clone(),
            source,
        })?;
        let entries = foreign.entries();
        let places = entries.iter().map(|entry| {
            let run = entry.weights();
            (run.float.unwrap_or(Float::F32), run.at)
        });
        Ok(Self {
            path,
            other: None,
            spec: AgentSpec::NTuple(player),
            recipe: None,
            episodes: None,
            saved: StoredTables::of_theirs(file, places.collect()),
        })
    }
}

/// What a file of another program plays, if it says so.
fn theirs_alone(foreign: &Foreign) -> Result<NTupleSpec, Unplayable> {
    let meaning = foreign.table_patterns(None)?;
    Ok(NTupleSpec {
        game: games::DEFAULT_GAME.to_owned(),
        tuples: foreign::tuples(&meaning, true, None)?,
        value: ValueOf::Afterstate,
        ties: Ties::Order,
        discount: 1.0,
    })
}

/// A file that only has tables, as those of this network.
fn theirs_as(foreign: &Foreign, like: &NTupleSpec) -> Result<NTupleSpec, Unplayable> {
    if foreign.base() != NTupleSpec::BASE {
        return Err(Unplayable::Base(foreign.base()));
    }
    let patterns: Vec<String> = like
        .tuples
        .patterns()
        .iter()
        .map(ToString::to_string)
        .collect();
    foreign.table_patterns(Some(&patterns))?;
    Ok(like.clone())
}

/// Fills a new agent with the weights of a model of the same network, or of its first stages; what
/// only learning needs (sums of TC, moments of Adam, a replay buffer) starts anew.
///
/// # Errors
/// When the file cannot be read, or is of another network.
pub(crate) fn fill(
    agent: &dyn TrainableAgent,
    spec: &AgentSpec,
    path: &Path,
) -> Result<(), LabError> {
    let mut file = ModelFile::open_as(path, Some(spec))?;
    if let Some(banks) = file.spec.banks_of(spec) {
        file.saved.set_banks(banks);
    } else if let Some((what, found, expected)) = file.spec.difference(spec) {
        return Err(LabError::OtherNetwork {
            path: file.path,
            what,
            found,
            expected,
        });
    }
    let read = agent.read(&file.saved, StoredParts::Weights);
    let read = read.and_then(|()| file.verify_rest());
    read.map_err(|error| file.unreadable(error))
}

impl Model {
    /// Opens a model file, the last save of a run folder, a boxed network by its name, or weights of
    /// another program.
    ///
    /// # Errors
    /// When there is none, or it is damaged, foreign or too large.
    pub fn open(path: &Path) -> Result<Self, LabError> {
        Self::open_within(path, &MemoryBudget::process())
    }

    /// The same with memory of this budget.
    ///
    /// # Errors
    /// When there is none, or it is damaged, foreign or too large.
    pub fn open_within(path: &Path, budget: &MemoryBudget) -> Result<Self, LabError> {
        let file = ModelFile::open(path)?;
        Ok(Self {
            agent: open_agent(&file, budget)?,
            lacks_checksums: file.saved.lacks_checksums(),
            spec: file.spec,
            recipe: file.recipe.as_ref().map(Recipe::title),
            changed: file.recipe.map_or_else(Vec::new, |recipe| recipe.changed),
            episodes: file.episodes,
            path: file.path,
        })
    }

    /// Its description in reports.
    pub fn info(&self) -> ModelInfo {
        ModelInfo {
            recipe: self.recipe.clone(),
            changed: self.changed.clone(),
            trained: self.episodes,
            ..ModelInfo::of(&self.path, &self.spec)
        }
    }
}

impl ModelInfo {
    /// The description of a file of which only the network is known.
    fn of(path: &Path, spec: &AgentSpec) -> Self {
        Self {
            path: path.display().to_string(),
            sha256: None,
            game: spec.game().to_owned(),
            board: spec.shape().to_string(),
            recipe: None,
            changed: Vec::new(),
            trained: None,
        }
    }

    /// The description of a model file, a run folder or weights of another program, of which only the
    /// header is read.
    ///
    /// # Errors
    /// When there is none, or it does not say what it plays.
    pub fn of_file(path: &Path) -> Result<Self, LabError> {
        let file = ModelFile::open(path)?;
        Ok(Self {
            recipe: file.recipe.as_ref().map(Recipe::title),
            trained: file.episodes,
            changed: file.recipe.map_or_else(Vec::new, |recipe| recipe.changed),
            ..Self::of(&file.path, &file.spec)
        })
    }

    /// Computes the digest of its file, if that has not been done.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn hash(&mut self) -> Result<(), LabError> {
        if self.sha256.is_none() {
            self.sha256 = Some(boxed::sha256_of(Path::new(&self.path))?);
        }
        Ok(())
    }
}

/// Creates an agent and fills it from a file.
fn open_agent(file: &ModelFile, budget: &MemoryBudget) -> Result<Arc<dyn Agent>, LabError> {
    let agent: Box<dyn StoredAgent> = match &file.spec {
        AgentSpec::NTuple(spec) => ntuple_agent(spec, Rule::Td, 0.0, budget)?,
        #[cfg(feature = "deep")]
        AgentSpec::Deep(spec) => {
            crate::agent::deep::to_be_filled(spec, &file.saved, &file.path, budget)?
        }
        #[cfg(not(feature = "deep"))]
        AgentSpec::Deep(_) => return Err(LabError::NoDeep),
    };
    let read = agent.read(&file.saved, StoredParts::Weights);
    let read = read.and_then(|()| file.verify_rest());
    read.map_err(|error| file.unreadable(error))?;
    Ok(Arc::from(agent as Box<dyn Agent>))
}

/// The metadata of an agent after `episodes` games.
pub(crate) fn metadata(player: &AgentSpec, recipe: &Recipe, episodes: u64) -> Metadata {
    let mut metadata = match player {
        AgentSpec::NTuple(player) => about(player, recipe.learner.rule()),
        AgentSpec::Deep(player) => {
            let entries = player.metadata().into_iter();
            let entries = entries.chain([(FORMAT, Format::NOW.to_string())]);
            entries
                .map(|(key, value)| (key.to_owned(), value))
                .collect()
        }
    };
    metadata.insert("episodes".to_owned(), episodes.to_string());
    metadata.insert(RECIPE.to_owned(), recipe.to_toml());
    metadata
}

/// The metadata of an agent of whose training only the rule is known.
pub(crate) fn about(player: &NTupleSpec, rule: Rule) -> Metadata {
    let hint = player.tuples.by_hint();
    let entries = [
        (FORMAT, Format::NOW.to_string()),
        ("game", player.game.clone()),
        ("board", player.shape().to_string()),
        (TUPLES, player.tuples.to_string()),
        ("symmetry", player.tuples.symmetry().to_string()),
        ("value", word(&player.value)),
        ("ties", word(&player.ties)),
        ("rule", word(&rule)),
        (DISCOUNT, player.discount.to_string()),
    ];
    let hint = hint.then(|| ("hint", "true".to_owned()));
    let stages = spec::thresholds(player).map(|thresholds| {
        let stages = player.tuples.stages();
        [
            (STAGES, stages.count().to_string()),
            (THRESHOLDS, thresholds),
            (PROMOTION, stages.promotes().to_string()),
        ]
    });
    let redundant = Some(player.tuples.redundant()).filter(|patterns| !patterns.is_empty());
    let redundant = redundant.map(|patterns| (REDUNDANT, patterns));
    let entries = entries.into_iter().chain(hint).chain(redundant);
    let entries = entries.chain(stages.into_iter().flatten());
    entries
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// The specification in a file's metadata, of any kind of network.
fn any_player(fields: &Fields<'_>) -> Result<AgentSpec, LabError> {
    match fields.has(CONVOLUTIONS) {
        true => DeepSpec::read(fields).map(AgentSpec::Deep),
        false => player(fields).map(AgentSpec::NTuple),
    }
}

/// The n-tuple specification in a file's metadata.
pub(crate) fn player(fields: &Fields<'_>) -> Result<NTupleSpec, LabError> {
    let text = |key, expected| fields.get(key, expected, |text| Some(text.to_owned()));
    let game = text("game", "the name of a game")?;
    let (rows, cols) = fields.get("board", "a size such as 4x4", |text| parse_board(text).ok())?;
    let symmetry = fields.get("symmetry", "true or false", |text| {
        bool::from_str(text).ok()
    })?;
    let tuples = text(TUPLES, "patterns such as 012345")?;
    let hint = fields.has("hint")
        && fields.get("hint", "true or false", |text| bool::from_str(text).ok())?;
    let shape = games::shape(rows, cols)?;
    let mut tuples = TupleSet::parse(&tuples, shape, symmetry)?;
    if fields.has(REDUNDANT) {
        tuples = tuples.with_redundant(&text(REDUNDANT, "patterns such as 012")?)?;
    }
    let tuples = spec::tuples_of(&game, tuples, hint)?;
    let stages = match fields.has(THRESHOLDS) {
        false => Stages::default(),
        true => {
            let promotion =
                fields.get(PROMOTION, "true or false", |text| bool::from_str(text).ok())?;
            fields.get(THRESHOLDS, "ascending sums of different tiles", |text| {
                spec::stages_from(&game, shape, text, promotion)
            })?
        }
    };
    Ok(NTupleSpec {
        tuples: tuples.with_stages(stages),
        game,
        value: fields.get("value", "afterstate or state", |text| {
            from_word::<ValueOf>(text).filter(|value| *value != ValueOf::Action)
        })?,
        ties: fields.get("ties", "order or random", from_word::<Ties>)?,
        discount: match fields.has(DISCOUNT) {
            false => 1.0,
            true => fields.get(DISCOUNT, "a number from 0 to 1", spec::discount)?,
        },
    })
}
