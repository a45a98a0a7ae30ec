//! Comparison of two profiles.

use crate::folded::profile;
use proptest::prelude::*;
use slowpath_cost::compare::{Part, categories, functions};
use slowpath_cost::names::Known;
use slowpath_cost::{Category, Comparison, Cost, Image, Profile, Run};

fn run(profile: &Profile) -> Run<'_> {
    Run::of(profile, 0)
}

fn part<'a>(comparison: &'a Comparison<Known>, name: &str) -> &'a Part<Known> {
    comparison
        .parts
        .iter()
        .find(|part| part.of.name == name)
        .unwrap_or_else(|| panic!("{name} is in neither"))
}

/// The paper's two kernels and a new one have the same function under three names.
#[test]
fn functions_are_matched_across_renames_and_compiler_suffixes() {
    let old = profile(
        "tcp_sendmsg;tcp_transmit_skb 30
         tcp_sendmsg 20
         handle_IRQ_event 50",
    );
    let new = profile(
        "tcp_sendmsg;tcp_sendmsg_locked;__tcp_transmit_skb.isra.0 40
         tcp_sendmsg;tcp_sendmsg_locked;tcp_transmit_skb 4
         tcp_sendmsg;tcp_sendmsg_locked 24
         tcp_sendmsg 2
         handle_irq_event 10
         page_pool_put 20",
    );
    let comparison = functions(&run(&old), &run(&new));
    let shares: Vec<_> = comparison
        .parts
        .iter()
        .map(|part| (part.of.name.as_str(), part.share.before.unwrap(), part.share.after.unwrap()))
        .collect();
    assert_eq!(
        shares,
        [
            ("handle_irq_event", 0.5, 0.1),
            ("page_pool_put", 0.0, 0.2),
            ("__tcp_transmit_skb", 0.3, 0.44),
            ("tcp_sendmsg_locked", 0.2, 0.26),
        ]
    );
    let sending = part(&comparison, "tcp_sendmsg_locked");
    let names: Vec<_> =
        sending.functions.after.iter().map(|function| new.functions.name(*function)).collect();
    assert_eq!(names, ["tcp_sendmsg_locked", "tcp_sendmsg"]);
    assert_eq!(sending.cost.after, Cost { samples: 26, weight: 26 });
}

#[test]
fn program_functions_are_matched_only_within_their_program() {
    let with = |image: Image| {
        let mut profile = profile("x 1");
        let function = profile.functions.of("tcp_sendmsg", &image);
        let frame = slowpath_cost::Frame { function, inlined: false };
        let stack = profile.stacks.push([frame], false);
        profile.entries.push(slowpath_cost::Entry { stack, event: 0, task: 0, samples: 9, weight: 9 });
        profile
    };
    let (module, kernel) = (with(Image::Kernel(Some("tcp".to_owned()))), with(Image::Kernel(None)));
    let user = with(Image::User("nc".to_owned()));
    assert_eq!(part(&functions(&run(&module), &run(&kernel)), "tcp_sendmsg_locked").difference(), Some(0.0));
    // A program's function with the same name is another one, and keeps its name.
    let comparison = functions(&run(&user), &run(&kernel));
    assert_eq!(part(&comparison, "tcp_sendmsg").difference(), Some(-0.9));
    assert_eq!(part(&comparison, "tcp_sendmsg_locked").difference(), Some(0.9));
}

#[test]
fn costs_are_per_unit_of_work_if_known() {
    let (before, after) = (profile("f 300\ng 100"), profile("f 300\ng 500"));
    let comparison = functions(&run(&before).with_work(100.0), &run(&after).with_work(300.0));
    let f = part(&comparison, "f");
    // As many samples for three times the work; the share halves as g has grown.
    assert_eq!((f.each.before, f.each.after), (Some(3.0), Some(1.0)));
    assert_eq!(f.times(), Some(1.0 / 3.0));
    assert_eq!(f.difference(), Some(300.0 / 800.0 - 0.75));
    assert_eq!((comparison.each().before, comparison.each().after), (Some(4.0), Some(800.0 / 300.0)));
    let unknown = functions(&run(&before), &run(&after).with_work(0.0));
    assert_eq!((part(&unknown, "f").each.before, part(&unknown, "f").each.after), (None, None));
    assert!(comparison.is_same_event);
    let mut nanos = after.clone();
    nanos.events[0].unit = "ns";
    assert!(!functions(&run(&before), &run(&nanos)).is_same_event);
}

#[test]
fn significance_depends_on_the_number_of_samples() {
    let before = profile("many 100000\nfew 3\nrest 900000");
    let after = profile("many 103000\nfew 9\nrest 897000");
    let comparison = functions(&run(&before), &run(&after));
    // 3 against 9 happens by chance one time in seven or so: 2 · P(≤ 3 of 12 at one half) = 2 · 299 / 4096.
    let few = part(&comparison, "few").by_chance.unwrap();
    assert!((few / (2.0 * 299.0 / 4096.0) - 1.0).abs() < 1e-2, "{few}");
    assert!(part(&comparison, "many").among_all.unwrap() < 1e-9);
    // Holm: the greatest of three probabilities is not raised, or only to the one before it.
    let raised = part(&comparison, "few").among_all.unwrap();
    assert_eq!(raised, few);
}

#[test]
fn categories_are_compared_like_functions() {
    let before = profile("tcp_ack 6\nkfree 2\nfrobnicate 2");
    let after = profile("tcp_ack 4\ntcp_v4_rcv 4\nkfree 1\nfrobnicate 1");
    let comparison = categories(&run(&before), &run(&after));
    let share = |of| {
        let part = comparison.parts.iter().find(|part| part.of == of).unwrap();
        (part.share.before.unwrap(), part.share.after.unwrap())
    };
    assert_eq!(share(Some(Category::Tcp)), (0.6, 0.8));
    assert_eq!(share(Some(Category::Memory)), (0.2, 0.1));
    assert_eq!(share(None), (0.2, 0.1));
}

/// OProfile's report without stacks: figures 20 to 22 compare two such lists.
#[test]
fn function_lists_are_compared_without_stacks() {
    let (old, new) =
        (profile("tcp_v4_rcv 5\nalloc_skb 3\nidle 92"), profile("tcp_v4_rcv 8\n__alloc_skb 2\nidle 90"));
    let own = |profile: &Profile| profile.own(0).iter().map(|cost| cost.samples).collect::<Vec<_>>();
    let (old_own, new_own) = (own(&old), own(&new));
    let lists =
        functions(&Run::of_samples(&old.functions, &old_own), &Run::of_samples(&new.functions, &new_own));
    let stacks = functions(&run(&old), &run(&new));
    let parts = |comparison: &Comparison<Known>| {
        comparison.parts.iter().map(|part| (part.of.clone(), part.cost, part.by_chance)).collect::<Vec<_>>()
    };
    assert_eq!(parts(&lists), parts(&stacks));
    assert_eq!(part(&lists, "__alloc_skb").functions.before.len(), 1);
    // It does not state the event.
    assert!(!lists.is_same_event && stacks.is_same_event);
}

#[test]
fn empty_profile_has_no_shares() {
    let (empty, some) = (profile(""), profile("f 3"));
    let comparison = functions(&run(&empty), &run(&some));
    let f = part(&comparison, "f");
    assert_eq!((f.share.before, f.share.after, f.by_chance, f.difference()), (None, Some(1.0), None, None));
    assert!(functions(&run(&empty), &run(&empty)).parts.is_empty());
}

proptest! {
    /// Samples of one distribution differ by chance as often as stated, and all parts are present.
    #[test]
    fn parts_sum_to_both_profiles(before in counts(), after in counts()) {
        let (first, second) = (of_counts(&before), of_counts(&after));
        let comparison = functions(&run(&first), &run(&second));
        let sum = |of: fn(&Part<Known>) -> u64| comparison.parts.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(|part| part.cost.before.samples), before.iter().sum::<u64>());
        prop_assert_eq!(sum(|part| part.cost.after.weight), after.iter().sum::<u64>());
        let other_way = functions(&run(&second), &run(&first));
        for part in &comparison.parts {
            let other = other_way.parts.iter().find(|other| other.of == part.of).expect("the same parts");
            prop_assert_eq!(part.difference(), other.difference().map(|difference| -difference));
            if let (Some(one), Some(two)) = (part.by_chance, other.by_chance) {
                prop_assert!((0.0..=1.0).contains(&one) && (one - two).abs() < 1e-9, "{one} {two}");
                prop_assert!(part.among_all >= part.by_chance);
            }
        }
    }
}

fn counts() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(0_u64..40, 6)
}

fn of_counts(counts: &[u64]) -> Profile {
    let lines = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    profile(&lines.map(|(number, count)| format!("f{number} {count}\n")).collect::<String>())
}

/// Two profiles of the same machine doing the same work: as many differences are below 10 % as chance makes, or fewer,
/// since counts are whole.
#[test]
fn random_differences_are_as_frequent_as_their_probability() {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = |functions: u64| {
        let mut counts = vec![0; 200];
        for _ in 0..20_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            counts[(random % functions) as usize] += 1;
        }
        of_counts(&counts)
    };
    let (mut small, mut tested, mut surely) = (0, 0, 0);
    for _ in 0..20 {
        let (first, second) = (draw(200), draw(200));
        let comparison = functions(&run(&first), &run(&second));
        small +=
            comparison.parts.iter().filter(|part| part.by_chance.is_some_and(|chance| chance <= 0.1)).count();
        tested += comparison.parts.iter().filter(|part| part.by_chance.is_some()).count();
        surely += usize::from(
            comparison.parts.iter().any(|part| part.among_all.is_some_and(|chance| chance <= 0.1)),
        );
    }
    assert_eq!(tested, 4000);
    // 4,000 tests with a probability of 0.1, less because counts are whole: between five deviations (19) of 0.07 and of
    // 0.1.
    assert!((200..=495).contains(&small), "{small} of 4,000");
    // Any at all in a run: with Holm one run in ten.
    assert!(surely <= 7, "{surely} of 20");
}
