use super::*;
use crate::game::{Classic, Grid, Shape, TWOS_TILES, Twos};
use crate::ntuple::{Expecting, Network, Plain, TupleSet};
use crate::play::{Greedy, Policy, Random, States, Ties};

fn rules() -> Curriculum {
    Curriculum {
        games: 4,
        memory: 50,
        batches: 3,
        batch: 8,
        ..Curriculum::default()
    }
}

#[test]
fn a_full_memory_forgets_the_oldest_or_any() {
    let mut rng = game_rng(1, 1);
    let mut memory = Memory::new(3, Overwrite::Oldest);
    (0..5).for_each(|n| memory.push(n, &mut rng));
    assert_eq!((memory.kept(), memory.oldest()), (&[3, 4, 2][..], 2));
    let again = Memory::new(3, Overwrite::Oldest).with(memory.kept().to_vec(), memory.oldest());
    assert_eq!(again, memory);

    let mut memory = Memory::new(100, Overwrite::Random);
    (0..200).for_each(|n| memory.push(n, &mut rng));
    let old = memory.kept().iter().filter(|&&n| n < 100).count();
    // Each of the first hundred stays with a chance of 0.99^100 = 0.37.
    assert!((20..55).contains(&old), "{old}");
    assert_eq!(memory.len(), 100);
}

#[test]
fn everything_in_memory_is_drawn_alike() {
    let mut rng = game_rng(1, 2);
    let mut memory = Memory::new(10, Overwrite::Oldest);
    let mut drawn = vec![7];
    memory.draw(5, &mut rng, &mut drawn);
    assert!(drawn.is_empty() && memory.is_empty());
    (0..10).for_each(|n| memory.push(n, &mut rng));
    memory.draw(10_000, &mut rng, &mut drawn);
    for n in 0..10 {
        let count = drawn.iter().filter(|&&one| one == n).count();
        assert!((850..1150).contains(&count), "{n}: {count}");
    }
}

#[test]
fn epsilon_falls_along_a_line() {
    let rules = Curriculum {
        epsilon: 0.1,
        epsilon_iterations: 200,
        ..rules()
    };
    assert_eq!(rules.epsilon_at(0), 0.1);
    assert!((rules.epsilon_at(50) - 0.075).abs() < 1e-12);
    assert_eq!((rules.epsilon_at(200), rules.epsilon_at(999)), (0.0, 0.0));
    let constant = Curriculum {
        epsilon_iterations: 0,
        ..rules
    };
    assert_eq!(constant.epsilon_at(999), 0.1);
}

/// Notes everything it is shown, and moves at random.
#[derive(Default)]
struct Witness<G: Game> {
    learned: Vec<Transition<G::State>>,
}

impl<G: Game> Pupil<G> for Witness<G> {
    fn choose(
        &mut self,
        game: &G,
        states: &[G::State],
        rng: &mut Rng,
        chosen: &mut Vec<Direction>,
    ) {
        chosen.clear();
        let choose = |&state| Random.choose(game, state, rng).unwrap().direction;
        chosen.extend(states.iter().map(choose));
    }

    fn learn(&mut self, _: &G, batch: &[Transition<G::State>]) -> Learned {
        self.learned.extend_from_slice(batch);
        Learned {
            loss: 2.0,
            value: 1.0,
        }
    }
}

/// What is learned are moves by the rules, and games end where no move is left.
#[test]
fn transitions_are_moves_by_the_rules() {
    let game = Classic::new();
    let mut school = School::new(game, rules(), 5);
    let mut witness = Witness { learned: vec![] };
    let (mut finished, mut study) = (Vec::new(), Study::default());
    for _ in 0..400 {
        study.merge(&school.iterate(&mut witness, |outcome| finished.push(outcome)));
    }
    assert_eq!((study.iterations, study.moves), (400, 1600));
    // The first batch is drawn when memory has as many: after two iterations of four.
    assert_eq!(study.updates, 3 * 399);
    assert_eq!((study.mean_loss(), study.mean_value()), (2.0, 1.0));
    assert!(study.is_finite() && study.mean_reward() > 1.0);
    assert!(finished.len() > 5);
    assert!(
        finished
            .iter()
            .all(|outcome| outcome.moves > 20 && outcome.largest >= 16)
    );
    let played: u64 = finished.iter().map(|outcome| outcome.moves).sum();
    assert!(played <= 1600);
    let mut ends = 0;
    for t in &witness.learned {
        let (after, reward) = game.slides(t.state).get(t.direction).unwrap();
        assert_eq!(reward, t.reward);
        let mut possible = false;
        game.for_each_spawn(after, |state, _, _| possible |= state == t.next);
        assert!(possible);
        assert_eq!(game.slides(t.next).legal().next().is_none(), t.over);
        ends += usize::from(t.over);
    }
    assert!(ends > 0);
}

/// Three moves at a time, put together from single ones of the same games.
#[test]
fn transitions_span_several_moves() {
    let play = |steps| {
        let rules = Curriculum {
            games: 1,
            memory: 10_000,
            steps,
            discount: 0.5,
            batches: 0,
            ..rules()
        };
        let mut school = School::new(Classic::new(), rules, 5);
        for _ in 0..1000 {
            school.iterate(&mut Witness { learned: vec![] }, |_| ());
        }
        school.memory.kept().to_vec()
    };
    let (ones, threes) = (play(1), play(3));
    // The last two moves are not over yet.
    assert_eq!((ones.len(), threes.len()), (1000, 998));
    let mut ends = 0;
    for (n, three) in threes.iter().enumerate() {
        let end = ones[n..n + 3].iter().position(|one| one.over).unwrap_or(2);
        let (first, last) = (&ones[n], &ones[n + end]);
        let later = (1..=end).map(|k| 0.5_f32.powi(k as i32) * ones[n + k].reward as f32);
        let expected = Transition {
            later: later.sum(),
            steps: end as u32 + 1,
            next: last.next,
            over: last.over,
            ..*first
        };
        assert_eq!(*three, expected);
        ends += usize::from(last.over);
    }
    assert!(ends > 3);
}

/// A school that was written down and read goes on as the one that was not.
#[test]
fn notes_are_enough_to_go_on() {
    fn check<G: Game>(game: G) {
        let rules = Curriculum {
            epsilon: 0.3,
            epsilon_iterations: 500,
            overwrite: Overwrite::Random,
            steps: 3,
            discount: 0.9,
            ..rules()
        };
        let mut school = School::new(game, rules, 5);
        let mut ignored = Witness { learned: vec![] };
        for _ in 0..100 {
            school.iterate(&mut ignored, |_| ());
        }
        let notes = school.notes();
        let mut other = School::new(game, rules, 5);
        other.go_on(&notes).unwrap();
        assert_eq!(other.notes(), notes);
        let (mut a, mut b) = (Witness { learned: vec![] }, Witness { learned: vec![] });
        for _ in 0..100 {
            assert_eq!(
                school.iterate(&mut a, |_| ()),
                other.iterate(&mut b, |_| ())
            );
        }
        assert_eq!(a.learned, b.learned);
        assert_eq!(other.notes(), school.notes());
    }
    check(Classic::new());
    check(crate::game::FourThrees::new(crate::game::Threes::Hint));
    check(Grid::new(Shape::new(2, 3).unwrap(), &Twos));
}

#[test]
fn notes_of_no_school_are_refused() {
    let mut school = School::new(Classic::new(), rules(), 5);
    school.iterate(&mut Witness { learned: vec![] }, |_| ());
    let notes = school.notes();
    let mut refused = |change: &dyn Fn(&mut Notes)| {
        let mut changed = notes.clone();
        change(&mut changed);
        school.go_on(&changed).unwrap_err().to_string()
    };
    assert!(refused(&|n| n.games.truncate(3)).contains("3 games, expected 4"));
    assert!(refused(&|n| n.games[0].0 = "12".into()).contains("`12` is no position"));
    assert!(refused(&|n| n.games[0].0 = "1212212112122121".into()).contains("no position"));
    assert!(refused(&|n| n.memory[0].1 = 4).contains("4 is no direction"));
    assert!(refused(&|n| n.memory = vec![n.memory[0].clone(); 51]).contains("room for 50"));
    assert!(refused(&|n| n.memory[0].5 = "0000000000000001.4096".into()).contains("no position"));
    assert!(refused(&|n| n.memory[0].4 = 2).contains("2 steps and 0 later; expected 1 to 1"));
    assert!(refused(&|n| n.memory[0].3 = f32::NAN).contains("NaN later"));
    assert!(refused(&|n| n.memory[0].6 = true).contains("no position"));
    assert!(refused(&|n| n.games[0].2 = vec![n.memory[0].clone()]).contains("no position"));
    assert!(refused(&|n| n.games[0].1.score = u64::MAX).contains("too large"));
    assert!(refused(&|n| n.iterations = u64::MAX).contains("too large"));
}

/// By hand: a table of one cell without symmetry, so that V is the weight of the tile there.
#[test]
fn tables_move_towards_the_reward_and_the_next_value() {
    let shape = Shape::new(2, 2).unwrap();
    let game = Grid::new(shape, &Twos);
    let tuples = TupleSet::parse("0", shape, false).unwrap();
    let network = Expecting::<Plain>::new(&tuples, 10.0, &TWOS_TILES).unwrap();
    let mut pupil = TablePupil::<_, Plain>::new(&network, Ties::Order, 0.5);
    let state = |tiles: [u8; 4]| game.state(&tiles, crate::game::Luck::NONE).unwrap();
    let mut transition = Transition {
        state: state([1, 1, 0, 0]),
        direction: Direction::Left,
        reward: 4,
        later: 0.0,
        steps: 1,
        next: state([2, 0, 0, 1]),
        over: false,
    };
    // Off by 4 + 10 - 10.
    let learned = pupil.learn(&game, &[transition]);
    assert_eq!((learned.loss, learned.value), (16.0, 10.0));
    assert_eq!(network.value(state([1, 0, 0, 0])), 12.0);
    assert_eq!(network.value(state([2, 0, 0, 0])), 10.0);
    // What is over is worth nothing any more: off by 4 - 12.
    transition.over = true;
    let learned = pupil.learn(&game, &[transition]);
    assert_eq!((learned.loss, learned.value), (64.0, 12.0));
    assert_eq!(network.value(state([1, 0, 0, 0])), 8.0);
}

/// 2x2 from memory, the whole board in a tuple: played almost perfectly.
#[test]
fn a_small_board_is_learned_from_memory() {
    let shape = Shape::new(2, 2).unwrap();
    let game = Grid::new(shape, &Twos);
    let tuples = TupleSet::parse("0123", shape, true).unwrap();
    let network = Expecting::<Plain>::new(&tuples, 0.0, &TWOS_TILES).unwrap();
    let mut pupil = TablePupil::<_, Plain>::new(&network, Ties::Order, 0.1);
    let mut school = School::new(
        game,
        Curriculum {
            epsilon: 0.1,
            epsilon_iterations: 2000,
            ..Curriculum::default()
        },
        1,
    );
    for _ in 0..4000 {
        assert!(school.iterate(&mut pupil, |_| ()).is_finite());
    }
    let mut player = Greedy::<_, States<Plain>>::new(&network, Ties::Order);
    let mut learner = crate::play::Watch;
    let score = |number| {
        let mut rng = game_rng(2, number);
        crate::play::play(&game, &mut player, &mut learner, &mut rng).score as f64
    };
    let mean = (0..20_000).map(score).sum::<f64>() / 20_000.0;
    // The best expected score is 66.964; the standard error of this mean is about 0.2.
    assert!(mean > 65.5, "{mean}");
}
