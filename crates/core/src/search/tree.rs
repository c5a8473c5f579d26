//! The bottom of a search: all afterstates within two plies of some others, evaluated together.
//!
//! `afterstates -> spawns -> states -> slides -> afterstates -> ... -> leaves -> values -> back up`
//!
//! A plain search of three plies of 2048 reaches some 1,500 states at its end, and evaluates four
//! slides of each. Most of them are repetitions, because many slides lead to the same afterstate:
//! 1,467 such states had 944 different afterstates (docs/search.md). So a tree has one node for each
//! afterstate and depth. All leaves are known before the first is evaluated, and are located and
//! prefetched four at a time.
//!
//! Nodes are added in breadth-first order: a node has a larger number than all nodes above it, and
//! values are backed up in reverse order. Sums have the order of the plain search, so all values
//! are the same, bit for bit.

use super::leaves::LeafValues;
use super::table::TranspositionTable;
use super::{SpawnDepth, spawn_term};
use crate::Value;
use crate::game::{After, Game, PositionKey, Slides, State, fold};
use crate::value::{ActionValues, Decision};

/// The deepest afterstates that a tree takes: two more plies are searched below them.
pub(super) const TREE_PLIES: u8 = 2;

/// The number of a node.
type Node = u32;

/// What a tree is made of.
pub(super) struct Context<'a, G: Game> {
    pub(super) game: &'a G,
    pub(super) table: &'a TranspositionTable,
    pub(super) spawn_depth: SpawnDepth,
    /// Whether the value function needs the state before a slide.
    pub(super) by_state: bool,
    pub(super) discount: Value,
}

/// An afterstate above the leaves.
struct Inner<B> {
    after: After<B>,
    node: Node,
    plies: u8,
    /// Its slot in the cache.
    slot: u32,
    /// Its spawns: a range of `spawns`.
    first: u32,
    end: u32,
}

/// A spawn, and the state that it leads to.
struct Spawned {
    chance: f64,
    reward: u32,
    value: NodeValue,
}

/// How the value of a state is found.
#[derive(Clone, Copy)]
enum NodeValue {
    /// By a range of `moves`; an empty one is the end of the game.
    Moves(u32, u32),
    /// By the value function, from the state: a number of a decision.
    Decision(u32),
}

/// A slide: its reward, and the node of its afterstate.
struct Move {
    reward: u32,
    node: Node,
}

/// A leaf to evaluate.
struct Leaf {
    node: Node,
    slot: u32,
}

/// A tree, and memory that all trees of a search use in turn.
pub(super) struct Tree<G: Game> {
    cache: Cache,
    /// The value of each node, once it is known.
    node_values: Vec<Value>,
    inner: Vec<Inner<G::Board>>,
    spawns: Vec<Spawned>,
    moves: Vec<Move>,
    leaves: Vec<Leaf>,
    leaf_afters: Vec<After<G::Board>>,
    leaf_values: Vec<Value>,
    /// The states at the end, for value functions that need them.
    decisions: Vec<Decision<G>>,
    decision_values: Vec<ActionValues>,
    /// Positions evaluated so far, over all trees.
    pub(super) evaluated: u64,
}

impl<G: Game> Tree<G> {
    pub(super) fn new() -> Self {
        Self {
            cache: Cache::new(),
            node_values: Vec::new(),
            inner: Vec::new(),
            spawns: Vec::new(),
            moves: Vec::new(),
            leaves: Vec::new(),
            leaf_afters: Vec::new(),
            leaf_values: Vec::new(),
            decisions: Vec::new(),
            decision_values: Vec::new(),
            evaluated: 0,
        }
    }

    /// The values of the afterstates of all legal slides, each searched `plies` more moves, at most
    /// [`TREE_PLIES`]. Without plies, the value function must have values of afterstates.
    pub(super) fn search(
        &mut self,
        context: &Context<'_, G>,
        leaves: &mut dyn LeafValues<G>,
        slides: &Slides<G::Board>,
        plies: u8,
    ) -> [Option<Value>; 4] {
        self.reset();
        let mut nodes = [None; 4];
        for slide in slides.legal() {
            nodes[slide.direction() as usize] = Some(self.node(context, slide.after(), plies));
        }
        let mut next = 0;
        while next < self.inner.len() {
            self.expand(context, next);
            next += 1;
        }
        self.evaluate(context, leaves);
        self.back_up(context);
        nodes.map(|node| node.map(|node| self.node_values[node as usize]))
    }

    fn reset(&mut self) {
        self.cache.next_tree();
        self.node_values.clear();
        self.inner.clear();
        self.spawns.clear();
        self.moves.clear();
        self.leaves.clear();
        self.leaf_afters.clear();
        self.decisions.clear();
    }

    /// The node of an afterstate, added unless it is there.
    #[inline(always)]
    fn node(&mut self, context: &Context<'_, G>, after: After<G::Board>, plies: u8) -> Node {
        let node = self.node_values.len() as Node;
        let words = after.key().words();
        let slot = match self.cache.find(words, plies, node) {
            Cached::InTree(node) => return node,
            Cached::Value(value) => {
                self.node_values.push(value);
                return node;
            }
            Cached::No(slot) => slot,
        };
        self.node_values.push(0.0);
        if plies == 0 {
            self.leaves.push(Leaf { node, slot });
            self.leaf_afters.push(after);
        } else {
            context.table.prefetch(words, plies);
            self.inner.push(Inner {
                after,
                node,
                plies,
                slot,
                first: 0,
                end: 0,
            });
        }
        node
    }

    /// Finds an afterstate in the table, or adds the states below it with the nodes of their slides.
    #[inline(always)]
    fn expand(&mut self, context: &Context<'_, G>, place: usize) {
        let Inner {
            after,
            plies,
            node,
            slot,
            ..
        } = self.inner[place];
        if let Some(value) = context.table.get(after.key().words(), plies) {
            self.node_values[node as usize] = value;
            self.cache.set(slot, node, value);
            return;
        }
        let cells = context.game.spawn_cells(after).count_ones();
        self.inner[place].first = self.spawns.len() as u32;
        context.game.for_each_spawn(after, |state, reward, chance| {
            let plies = context.spawn_depth.plies(plies, chance, cells);
            let value = self.node_value(context, state, plies);
            self.spawns.push(Spawned {
                chance,
                reward,
                value,
            });
        });
        self.inner[place].end = self.spawns.len() as u32;
    }

    #[inline(always)]
    fn node_value(
        &mut self,
        context: &Context<'_, G>,
        state: State<G::Board>,
        plies: u8,
    ) -> NodeValue {
        if context.by_state && plies == 1 {
            if let Some(decision) = Decision::new(context.game, state) {
                self.decisions.push(decision);
                return NodeValue::Decision(self.decisions.len() as u32 - 1);
            }
            return NodeValue::Moves(0, 0);
        }
        let first = self.moves.len() as u32;
        for slide in context.game.slides(state).legal() {
            let node = self.node(context, slide.after(), plies - 1);
            let reward = slide.reward();
            self.moves.push(Move { reward, node });
        }
        NodeValue::Moves(first, self.moves.len() as u32)
    }

    /// Evaluates all leaves.
    fn evaluate(&mut self, context: &Context<'_, G>, leaves: &mut dyn LeafValues<G>) {
        if context.by_state {
            leaves.decisions(context.game, &self.decisions, &mut self.decision_values);
            self.evaluated += self.decisions.len() as u64;
            return;
        }
        leaves.afterstates(context.game, &self.leaf_afters, &mut self.leaf_values);
        for (leaf, &value) in self.leaves.iter().zip(&self.leaf_values) {
            self.node_values[leaf.node as usize] = value;
            self.cache.set(leaf.slot, leaf.node, value);
        }
        self.evaluated += self.leaf_afters.len() as u64;
    }

    /// Computes the values of all other nodes from below.
    fn back_up(&mut self, context: &Context<'_, G>) {
        // One from the table has no spawns.
        let expanded = self.inner.iter().filter(|inner| inner.first < inner.end);
        for inner in expanded.rev() {
            let mut sum = 0.0;
            for spawned in &self.spawns[inner.first as usize..inner.end as usize] {
                let value = self.state_value(spawned.value);
                sum += spawn_term(spawned.chance, spawned.reward, context.discount, value);
            }
            let value = sum as Value;
            self.node_values[inner.node as usize] = value;
            self.cache.set(inner.slot, inner.node, value);
            context
                .table
                .set(inner.after.key().words(), inner.plies, value);
        }
    }

    /// The largest total of the slides of a state; 0 if the game is over.
    #[inline(always)]
    fn state_value(&self, value: NodeValue) -> Value {
        match value {
            NodeValue::Moves(first, end) => {
                let moves = &self.moves[first as usize..end as usize];
                let totals = moves.iter().map(|one| {
                    let value = self.node_values[one.node as usize];
                    one.reward as Value + value
                });
                // As in `ActionValues::best`: a NaN never compares as larger.
                totals
                    .reduce(|a, b| if b > a { b } else { a })
                    .unwrap_or(0.0)
            }
            NodeValue::Decision(number) => {
                let values = &self.decision_values[number as usize];
                let best = values.best().and_then(|best| values.get(best));
                best.map_or(0.0, |best| best.total)
            }
        }
    }
}

/// Afterstates of this tree and of earlier ones, with their nodes or values: a table in which a new
/// entry replaces an old one. It is not shared, and small enough for the second level of cache.
struct Cache {
    entries: Vec<CacheEntry>,
    tree: u32,
}

/// 32 bytes: two in a cache line.
#[derive(Clone, Copy)]
struct CacheEntry {
    /// The words of the key.
    words: [u64; 2],
    value: Value,
    /// The tree that has `node`; 0 in an unused slot.
    tree: u32,
    node: Node,
    plies: u8,
    is_known: bool,
}

/// What the cache has for an afterstate.
enum Cached {
    /// A node of this tree.
    InTree(Node),
    /// A value of an earlier tree.
    Value(Value),
    /// Nothing: the slot is now its own.
    No(u32),
}

impl Cache {
    /// A search of three plies has about 1,000 afterstates.
    const SLOTS: usize = 1 << 12;

    fn new() -> Self {
        let empty = CacheEntry {
            words: [0; 2],
            value: 0.0,
            tree: 0,
            node: 0,
            plies: 0,
            is_known: false,
        };
        Self {
            entries: vec![empty; Self::SLOTS],
            tree: 0,
        }
    }

    fn next_tree(&mut self) {
        self.tree = match self.tree.checked_add(1) {
            Some(tree) => tree,
            None => {
                // After four billion trees the numbers begin again.
                *self = Self::new();
                1
            }
        };
    }

    /// Finds an afterstate, and makes it the one with this node.
    #[inline(always)]
    fn find(&mut self, words: [u64; 2], plies: u8, node: Node) -> Cached {
        let hash = fold(
            words[0] ^ words[1].rotate_left(32),
            0x9E37_79B9_7F4A_7C15 ^ u64::from(plies) << 1,
        );
        let slot = hash as usize % Self::SLOTS;
        let entry = &mut self.entries[slot];
        if entry.words == words && entry.plies == plies && entry.tree != 0 {
            if entry.tree == self.tree {
                return Cached::InTree(entry.node);
            }
            if entry.is_known {
                (entry.tree, entry.node) = (self.tree, node);
                return Cached::Value(entry.value);
            }
        }
        *entry = CacheEntry {
            words,
            value: 0.0,
            tree: self.tree,
            node,
            plies,
            is_known: false,
        };
        Cached::No(slot as u32)
    }

    /// Stores the value of a node, unless its slot has been taken by another.
    #[inline(always)]
    fn set(&mut self, slot: u32, node: Node, value: Value) {
        let entry = &mut self.entries[slot as usize];
        if entry.tree == self.tree && entry.node == node {
            (entry.value, entry.is_known) = (value, true);
        }
    }
}
