//! The games in the memory of the server, and their limits.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use afterstate_lab::session::Session;
use tokio::sync::Mutex;

use crate::error::Problem;

/// The most games in memory; the one that was used longest ago makes room.
const MOST: usize = 500;
/// The most actions of all games together, and of one game: each takes a few hundred bytes.
pub const MOST_ACTIONS: usize = 500_000;

/// All games in progress.
#[derive(Default)]
pub struct OpenGames(HashMap<String, Entry>);

struct Entry {
    session: Arc<Mutex<Session>>,
    /// Whether its initial tiles are placed by hand.
    is_manual: bool,
    /// The number of its actions, those that were undone included.
    actions: usize,
    used: Instant,
}

impl OpenGames {
    /// Adds a game by this name.
    pub(super) fn add(&mut self, id: String, session: Session, is_manual: bool) {
        let entry = Entry {
            is_manual,
            actions: session.actions().len(),
            session: Arc::new(Mutex::new(session)),
            used: Instant::now(),
        };
        self.0.insert(id, entry);
        self.make_room(MOST, MOST_ACTIONS);
    }

    /// Notes the number of actions of a game.
    pub(super) fn set_actions(&mut self, id: &str, actions: usize) {
        if let Some(entry) = self.0.get_mut(id) {
            entry.actions = actions;
            self.make_room(MOST, MOST_ACTIONS);
        }
    }

    /// Drops the games that were used longest ago, until the others are within both limits. The game
    /// that was used last stays.
    fn make_room(&mut self, games: usize, actions: usize) {
        let mut sum: usize = self.0.values().map(|entry| entry.actions).sum();
        while self.0.len() > games || (sum > actions && self.0.len() > 1) {
            let oldest = self.0.iter().min_by_key(|(_, entry)| entry.used);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else {
                break;
            };
            let dropped = self.0.remove(&oldest);
            sum -= dropped.map_or(0, |entry| entry.actions);
        }
    }

    /// Whether the initial tiles of a game are placed by hand.
    pub(super) fn is_manual(&self, id: &str) -> bool {
        self.0.get(id).is_some_and(|entry| entry.is_manual)
    }

    /// The game of this name, which is used now.
    pub(super) fn get(&mut self, id: &str) -> Result<Arc<Mutex<Session>>, Problem> {
        let entry = self.0.get_mut(id).ok_or_else(|| {
            Problem::missing(
                "this game is not in the memory of the server any more; begin it anew from its \
                 record",
            )
        })?;
        entry.used = Instant::now();
        Ok(Arc::clone(&entry.session))
    }

    /// Forgets a game.
    pub(super) fn remove(&mut self, id: &str) -> Result<(), Problem> {
        self.get(id)?;
        self.0.remove(id);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use afterstate::game::Shape;

    use super::*;

    #[test]
    fn the_games_used_longest_ago_make_room() {
        let mut games = OpenGames::default();
        for id in ["a", "b", "c"] {
            let mut session = Session::new("2048", Shape::FOUR, 1, 0).unwrap();
            session.start();
            games.add(id.to_owned(), session, false);
            // The times of use must differ.
            std::thread::sleep(Duration::from_millis(2));
        }
        games.get("a").unwrap();
        // Each game has two actions.
        games.make_room(3, 6);
        assert_eq!(games.0.len(), 3);
        games.make_room(3, 5);
        let mut left: Vec<&str> = games.0.keys().map(String::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["a", "c"]);
        games.make_room(1, 6);
        assert!(games.0.contains_key("a"));
        games.make_room(3, 1);
        assert_eq!(games.0.len(), 1, "the game in use stays");
    }
}
