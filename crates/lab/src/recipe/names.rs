//! Names that are not keys, and the keys they mean.
//!
//! Three sources, in this order: keys that had another name in an earlier format
//! ([`crate::migrate`]), names that other programs and the literature use, and names that differ
//! from a key by a letter or two. A key that is merely a little like it is not suggested.

use toml::Value;

use super::error::{RecipeError, shorten};
use super::keys::{self, Kinds};
use crate::migrate;

/// Keys, and the names that people type for them, separated by spaces.
const SYNONYMS: &[(&str, &str)] = &[
    (
        "episodes",
        "games num_episodes n_episodes num_games n_games",
    ),
    (
        "threads",
        "thread num_threads n_threads workers num_workers jobs cores cpus",
    ),
    ("seed", "seeds random_seed rng_seed"),
    ("block_games", "block block_size log_interval log_every"),
    (
        "checkpoint_seconds",
        "checkpoint checkpoint_interval save_interval save_every",
    ),
    ("result", "figure score results"),
    ("purpose", "description about"),
    ("board", "size board_size shape"),
    ("game", "env environment rules"),
    (
        "network.tuples",
        "tuple ntuple ntuples n_tuple n_tuples patterns pattern",
    ),
    (
        "network.symmetry",
        "symmetries symmetric isomorphism isomorphic",
    ),
    (
        "network.initial_value",
        "initial init init_value v_init vinit optimistic oi",
    ),
    ("network.redundant", "redundant_tuples redundant_encoding"),
    ("network.stages", "stage thresholds multistage"),
    ("network.promotion", "promote weight_promotion"),
    (
        "network.convolutions",
        "conv convs kernels kernel kernel_size",
    ),
    (
        "network.filters",
        "channels num_filters n_filters num_channels",
    ),
    (
        "network.hidden",
        "layers hidden_layers hidden_sizes hidden_size linear dense width",
    ),
    ("network.relu", "activation"),
    (
        "learner.learning_rate",
        "alpha lr rate rates eta step_size learningrate learn_rate schedule",
    ),
    (
        "learner.discount",
        "gamma discount_factor discount_rate discounting",
    ),
    (
        "learner.lambda",
        "lambd lam trace trace_decay td_lambda gae_lambda",
    ),
    ("learner.rule", "algorithm algo method coherence"),
    ("learner.ties", "tie tie_break tiebreak tie_breaking"),
    (
        "learner.epsilon",
        "eps exploration explore epsilon_start exploration_rate",
    ),
    (
        "learner.epsilon_iterations",
        "eps_decay epsilon_decay exploration_fraction epsilon_steps",
    ),
    ("learner.num_envs", "n_envs envs nenvs num_env actors"),
    (
        "learner.buffer_size",
        "buffer memory memory_size replay_size replay_buffer replay_buffer_size \
         replay_memory capacity",
    ),
    (
        "learner.n_step",
        "n_steps nstep nsteps num_steps multi_step steps",
    ),
    (
        "learner.updates_per_step",
        "batches gradient_steps utd utd_ratio replay_ratio",
    ),
    (
        "learner.batch_size",
        "batch batchsize minibatch minibatch_size mini_batch_size",
    ),
    (
        "learner.max_iterations",
        "iterations epochs num_epochs max_epochs num_iterations n_iterations total_iterations",
    ),
    (
        "learner.learning_starts",
        "warmup warm_up warmup_steps start_steps min_buffer_size min_replay_size",
    ),
    ("learner.stored_action", "store_action"),
    ("learner.stored_reward", "store_reward"),
    (
        "network.dropout_hidden",
        "dropout_rate dropout_p p_dropout dropout_prob",
    ),
    (
        "learner.max_updates",
        "updates num_updates n_updates total_updates max_steps",
    ),
    ("learner.optimiser", "optimizer optim opt"),
    ("learner.weight_decay", "decay l2"),
    ("learner.tau", "polyak"),
    ("learner.target_update", "follow target_network"),
    (
        "learner.target_update_iterations",
        "target_update_interval target_update_freq target_update_frequency \
         target_network_frequency",
    ),
    ("learner.acting_network", "plays actor"),
    ("learner.double", "double_dqn double_q ddqn"),
    ("learner.augment", "augmentation data_augmentation turn"),
    ("learner.mask_targets", "mask action_mask mask_illegal"),
    ("learner.reward_scale", "scale reward_scaling"),
    ("learner", "agent trainer"),
    ("network", "model net"),
];

/// The key that a name stands for elsewhere.
fn synonym(name: &str) -> Option<&'static str> {
    let plain = name.to_ascii_lowercase().replace('-', "_");
    let found = SYNONYMS.iter().find(|(_, names)| {
        let mut names = names.split_whitespace();
        names.any(|known| known == plain)
    });
    found.map(|(key, _)| *key)
}

/// The key that an unknown name means, and why.
enum Meant {
    /// The key has this name here.
    Name(&'static str),
    /// The key has this spelling, or is in another table.
    Spelling(String),
}

fn meant(key: &str) -> Option<Meant> {
    let last = last_part(key);
    if let Some(new) = migrate::key(key) {
        return Some(Meant::Name(new));
    }
    let all = keys::all();
    // `kind` is in both tables, so it is ambiguous.
    let mut same = all.iter().filter(|known| last_part(known) == last);
    if let (Some(known), None) = (same.next(), same.next()) {
        return Some(Meant::Spelling(known.clone()));
    }
    if let Some(key) = synonym(last).or_else(|| migrate::key_by_last_part(last)) {
        return Some(Meant::Name(key));
    }
    let tables = keys::SECTIONS.iter().copied();
    let all = all.iter().map(String::as_str).chain(tables);
    nearest(key, all).map(Meant::Spelling)
}

/// The error about a name that is not a key of any recipe.
pub(super) fn unknown(key: &str, origin: &str, kinds: Kinds<'_>) -> RecipeError {
    let (origin, shown) = (origin.to_owned(), shorten(key));
    match meant(key) {
        Some(Meant::Name(meant)) => RecipeError::OtherName {
            key: shown,
            origin,
            meant: meant.into(),
            owners: keys::owners(meant, kinds),
        },
        found => RecipeError::UnknownKey {
            key: shown,
            origin,
            nearest: found.and_then(|found| match found {
                Meant::Spelling(key) => Some(key),
                Meant::Name(_) => None,
            }),
            known: keys::known(key, kinds),
        },
    }
}

/// The error about an unknown entry outside of the known tables: for a table of an earlier format,
/// it names the first key.
pub(super) fn unknown_entry(
    name: &str,
    value: &Value,
    origin: &str,
    kinds: Kinds<'_>,
) -> RecipeError {
    let inner = value.as_table().and_then(|table| table.keys().next());
    match inner {
        Some(key) if migrate::is_old_table(name) => {
            unknown(&format!("{name}.{key}"), origin, kinds)
        }
        _ => unknown(name, origin, kinds),
    }
}

/// The full key that `name` stands for in an override: itself, or the only key that ends in it.
pub(super) fn resolve(name: &str, origin: &str, kinds: Kinds<'_>) -> Result<String, RecipeError> {
    let all = keys::all();
    if let Some(key) = all.iter().find(|key| *key == name) {
        return Ok(key.clone());
    }
    let mut matches = all.iter().filter(|key| last_part(key) == name);
    match (matches.next(), matches.next()) {
        (Some(key), None) => Ok(key.clone()),
        (Some(one), Some(two)) => Err(RecipeError::Ambiguous {
            key: name.into(),
            origin: origin.into(),
            candidates: [one.clone(), two.clone()],
        }),
        (None, _) if keys::SECTIONS.contains(&name) => Err(RecipeError::WholeTable {
            key: name.into(),
            origin: origin.into(),
        }),
        (None, _) => Err(unknown(name, origin, kinds)),
    }
}

/// Of some names the one that differs from `name` by few letters, if there is one; a key in the
/// wrong table counts as well.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    // Comparing takes the product of the lengths, and a hostile key can have a megabyte.
    let name: String = name.chars().take(80).collect::<String>().to_lowercase();
    let near = |known: &str| {
        let (a, b) = (last_part(&name), last_part(known));
        let allowed = (a.chars().count().min(b.chars().count()) + 1) / 3;
        let distance = strsim::damerau_levenshtein(a, b);
        // In doubt a key of the same table is meant.
        let same_table = name.len() - a.len() == known.len() - b.len();
        (distance <= allowed).then_some(2 * distance + usize::from(!same_table))
    };
    let candidates = known.filter_map(|known| Some((near(known)?, known)));
    let best = candidates.min_by_key(|(distance, _)| *distance);
    best.map(|(_, known)| known.to_owned())
}

fn last_part(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_synonym_means_a_key_and_is_none_itself() {
        let all = keys::all();
        for (key, names) in SYNONYMS {
            let known = all.iter().any(|known| known == key) || keys::SECTIONS.contains(key);
            assert!(known, "{key}");
            for name in names.split_whitespace() {
                assert!(!all.iter().any(|known| last_part(known) == name), "{name}");
                let means = SYNONYMS
                    .iter()
                    .filter(|(_, names)| names.split_whitespace().any(|other| other == name));
                assert_eq!(means.count(), 1, "{name} is there twice");
            }
        }
    }

    #[test]
    fn only_typing_errors_are_corrected() {
        let known = ["quick", "td-4x6", "state-6", "dqn"];
        for (name, expected) in [
            ("quikc", Some("quick")),
            ("Quick", Some("quick")),
            ("td4x6", Some("td-4x6")),
            ("nosuch", None),
            ("", None),
            ("nothing", None),
            ("d", None),
        ] {
            assert_eq!(
                nearest(name, known.into_iter()).as_deref(),
                expected,
                "{name}"
            );
        }
    }
}
