use super::*;

fn shift(mask: u64) -> Shift {
    Shift::new(4, mask)
}

#[test]
fn no_board_gives_an_index_beyond_the_bound() {
    let members = vec![
        Member::new(1, 1000, shift(0xF)),
        Member::new(0, 1001, shift(0)),
    ];
    let gather = Gather {
        turned: false,
        shared: vec![shift(0xF00)],
        members,
    };
    let gathers = Gathers::new(vec![gather], 8);
    let mut indices = Indices::default();
    for cpu in Cpu::all() {
        indices.fill_packed(cpu, &gathers, [0, u64::MAX, 0x1234_5678, 0xF0F0 << 20]);
        assert_eq!(indices.bound, Some(1000 + 0xF0F + 1));
        let largest = indices.all().as_flattened().iter().max();
        assert_eq!(largest, Some(&(1000 + 0xF0F)), "{cpu}");
    }
}

/// Any two numbers, including NaN and infinities; prefetches change nothing.
#[test]
fn the_memory_operand_addition_equals_plain_addition() {
    let mut rng = crate::random::game_rng(1, 1);
    let memory: WeightMemory<AtomicF32> = WeightMemory::zeroed(1000).unwrap();
    let mut indices = Indices::default();
    for _ in 0..10_000 {
        let (bits, i) = (rng.bits(), rng.below(1000) as usize);
        memory[i].set(Value::from_bits(bits as u32));
        let value = Value::from_bits((bits >> 32) as u32);
        indices.fill(1, 1000, |_| [0, 0, i, 0]);
        let found = memory.at(&indices);
        found.prefetch(2);
        found.prefetch_to_write(2);
        let (_, mut rest) = found.lane(2);
        let (fast, slow) = (
            rest.next().unwrap().added_to(value),
            value + memory[i].get(),
        );
        assert!(fast.to_bits() == slow.to_bits() || (fast.is_nan() && slow.is_nan()));
    }
}

#[test]
#[should_panic(expected = "bound")]
fn indices_of_larger_tables_are_refused() {
    let memory: WeightMemory<AtomicF32> = WeightMemory::zeroed(10).unwrap();
    let mut indices = Indices::default();
    indices.fill(4, 11, |_| [3; 4]);
    let _ = memory.at(&indices);
}

#[test]
fn unfinished_indices_are_refused() {
    let memory: WeightMemory<AtomicF32> = WeightMemory::zeroed(10).unwrap();
    let mut indices = Indices::default();
    indices.fill(4, 10, |_| [3; 4]);
    let filling = std::panic::AssertUnwindSafe(|| indices.fill(4, 10, |_| [1 << 40; 4]));
    assert!(std::panic::catch_unwind(filling).is_err());
    let reading = || memory.at(&indices).lane(0).1.count();
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(reading)).is_err());
}

#[test]
#[should_panic(expected = "bound")]
fn an_index_beyond_the_bound_is_refused() {
    Indices::default().fill(5, 11, |k| [0, k + 7, 0, 0]);
}
