//! `afterstate play`: playing and watching in the terminal.

use std::env;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::mpsc::Sender;

use afterstate::game::Shape;
use afterstate_lab::LabError;
use afterstate_lab::error::game_on;
use afterstate_lab::evaluate::Contender;
use afterstate_lab::games::{self, DEFAULT_GAME};
use afterstate_lab::recipe::parse_board;
use afterstate_lab::search::{SearchLimit, SearchSpec};
use afterstate_lab::session::{RecordFile, Session, SpawnChoice, StoredRecord};
use anyhow::bail;

use super::models::{baseline, default_model, described_baseline, open};
use super::shown;
use crate::args::{PlayArgs, SearchArgs};
use crate::interrupt;
use crate::output::{count, print};
use crate::play::app::App;
use crate::play::driver::{self, Driver, DriverEvent, Saving};
use crate::play::events::{Adviser, AppEvent, Options};
use crate::play::palette::TerminalStyle;
use crate::play::worker::Worker;
use crate::remedy;

/// The file that games are saved to when the user asks for it without `--save`.
const DEFAULT_FILE: &str = "play.txt";
/// The table of a search of few plies, in bytes.
const SMALL_TABLE: usize = 2 << 20;

pub fn run(args: &PlayArgs) -> anyhow::Result<()> {
    check_terminal()?;
    let record = args.open.as_deref();
    let record = record.map(|path| StoredRecord::read(path, args.number));
    let record = record.transpose()?;
    let Players {
        adviser,
        contender,
        game,
        shape,
    } = players(args, record.as_ref())?;
    if let Some(contender) = contender
        .as_ref()
        .filter(|_| !args.search.search.is_greedy())
    {
        // A search that does not fit is an error before the screen is taken.
        contender
            .clone()
            .with_search(&args.search.spec(&args.search.search))?;
    }
    if args.watch && contender.is_none() {
        let (game, train) = (game_on(&game, shape), remedy::train(&game, shape));
        bail!("there is no model of {game} to watch; `{train}` trains one");
    }
    if let Some(folder) = args.save.as_deref().and_then(Path::parent) {
        // An empty one is the folder of this process.
        if !folder.as_os_str().is_empty() && !folder.is_dir() {
            bail!("the folder {} for --save does not exist", shown(folder));
        }
    }
    let seed = args.seed.unwrap_or_else(any_seed);
    let session = match &record {
        Some(record) => opened(record, (&game, shape), seed)?,
        None => Session::new(&game, shape, seed, 0)?,
    };
    let file = args.save.as_deref();
    let file = file.map(|path| RecordFile::open(path, record.as_ref()));
    let file = file.transpose()?;
    let options = Options {
        adviser,
        limit: args.search.search.clone(),
        manual: args.spawns == SpawnChoice::Manual,
        watch: args.watch,
        seed,
        file: file.as_ref().map(|file| shown(file.path())),
    };
    let (sender, receiver) = driver::inputs();
    let worker = contender.map(|contender| start(contender, &args.search, sender.clone()));
    let driver = Driver {
        style: TerminalStyle::of(args.no_color, |name| env::var(name).ok()),
        worker,
        saving: Saving {
            file,
            default: DEFAULT_FILE.into(),
            opened: record,
        },
        sender,
        receiver,
    };
    let app = driver::run(driver, App::new(session, options))?;
    let printed = print(summary(&app));
    // After a signal there may be no terminal any more.
    if interrupt::asked() { Ok(()) } else { printed }
}

/// Starts the thread on which an agent analyses boards.
fn start(contender: Contender, search: &SearchArgs, sender: Sender<DriverEvent>) -> Worker {
    let search = search.clone();
    let spec_of = Box::new(move |limit: &_| spec(&search, limit));
    Worker::start(contender.agent, spec_of, move |event: AppEvent| {
        sender.send(DriverEvent::Event(event)).is_ok()
    })
}

/// The search of a move. Each has a table of its own, which takes longer to clear than a search of
/// few plies takes, so theirs is small.
fn spec(search: &SearchArgs, limit: &SearchLimit) -> SearchSpec {
    let mut spec = search.spec(limit);
    let is_short = limit.plies().is_some_and(|plies| plies <= 3);
    if search.hash.is_none() && is_short {
        spec.table_bytes = SMALL_TABLE;
    }
    spec
}

/// The recorded game. If it cannot be the game that was asked for, the error says which one it is.
fn opened(record: &StoredRecord, asked: (&str, Shape), seed: u64) -> anyhow::Result<Session> {
    record
        .session(asked.0, asked.1, seed)
        .or_else(|error| match record.game() {
            Ok(found) if found != asked => bail!(
                "the record is a game of {}, not of {}; leave out --game and --board",
                game_on(found.0, found.1),
                game_on(asked.0, asked.1)
            ),
            _ => Err(error.into()),
        })
}

/// What remains on the screen.
fn summary(app: &App) -> String {
    let session = &app.session;
    let saved = app.file.as_ref();
    let saved = saved.map_or_else(String::new, |file| format!("; saved to {file}"));
    format!(
        "{}: {}, {}, largest tile {}{saved}\n",
        session.game_on(),
        count(session.score(), "point"),
        count(session.moves(), "move"),
        session.largest()
    )
}

fn check_terminal() -> anyhow::Result<()> {
    let advice = "`afterstate eval` plays games without one";
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        bail!("playing needs a terminal as standard input and output; {advice}");
    }
    if env::var_os("TERM").is_some_and(|term| term == "dumb") {
        bail!("the terminal cannot move its cursor (TERM is `dumb`); {advice}");
    }
    Ok(())
}

/// A seed that differs each time.
fn any_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Who plays what.
struct Players {
    adviser: Adviser,
    /// The adviser, if there is one.
    contender: Option<Contender>,
    game: String,
    shape: Shape,
}

fn players(args: &PlayArgs, record: Option<&StoredRecord>) -> anyhow::Result<Players> {
    let recorded = record.filter(|_| args.game.is_none());
    let recorded = recorded.map(StoredRecord::game).transpose()?;
    let game = args.game.as_deref().or(recorded.map(|(game, _)| game));
    let shape = match &args.board {
        Some(board) => {
            let (rows, cols) = parse_board(board)?;
            Some(games::shape(rows, cols)?)
        }
        None => recorded.map(|(_, shape)| shape),
    };
    let asked = (game.unwrap_or(DEFAULT_GAME), shape.unwrap_or(Shape::FOUR));
    let Some(path) = &args.model else {
        return newest(asked);
    };
    let contender = named(path, asked)?;
    let other_game = game.is_some_and(|game| game != contender.game);
    if other_game || shape.is_some_and(|shape| shape != contender.shape) {
        let asked = game_on(asked.0, asked.1);
        bail!(
            "{} plays {}, not {asked}",
            contender.label,
            contender.game_on()
        );
    }
    Ok(Players {
        adviser: Adviser::Model(contender.label.clone()),
        game: contender.game.clone(),
        shape: contender.shape,
        contender: Some(contender),
    })
}

/// A model, a solution or a baseline; a baseline plays any game.
fn named(path: &Path, (game, shape): (&str, Shape)) -> anyhow::Result<Contender> {
    if let Some(baseline) = baseline(path) {
        let contender = Contender::baseline(baseline, game, shape)?;
        let label = described_baseline(&contender);
        return Ok(Contender { label, ..contender });
    }
    let (contender, _) = open(path)?;
    let label = shown(path);
    Ok(Contender { label, ..contender })
}

/// The default model of a game and board. Without one, and if it cannot be used, the game can still be
/// played by hand.
fn newest((game, shape): (&str, Shape)) -> anyhow::Result<Players> {
    let without = |adviser| Players {
        adviser: Adviser::None(adviser),
        contender: None,
        game: game.to_owned(),
        shape,
    };
    let path = match default_model(game, shape) {
        Ok(path) => path,
        Err(error) if matches!(error.downcast_ref(), Some(LabError::NoModel { .. })) => {
            return Ok(without(remedy::without_model(game, shape)));
        }
        Err(error) => return Err(error),
    };
    Ok(match named(&path, (game, shape)) {
        Ok(contender) => Players {
            adviser: Adviser::Model(contender.label.clone()),
            contender: Some(contender),
            ..without(String::new())
        },
        Err(error) => without(format!("no hints: {error}")),
    })
}
