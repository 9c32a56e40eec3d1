use super::*;

const MIB: usize = 1024 * 1024;

fn user(number: u128) -> Account {
    Account::User(uuid::Uuid::from_u128(number).into())
}

#[test]
fn no_user_takes_more_than_a_quarter() {
    let budget = Arc::new(ByteBudget::of_bodies(64 * MIB));
    let mut first = budget.begin(user(1));
    let mut second = budget.begin(user(1));
    first.grow_to(10 * MIB).expect("a part of the share");
    second.grow_to(6 * MIB).expect("the rest of it");
    let refusal = second.grow_to(6 * MIB + 1).expect_err("over the share");
    let refusal = refusal.to_string();
    assert!(refusal.contains("max_unfinished_body_bytes"), "{refusal}");
    assert!(refusal.contains("16777216"), "{refusal}");
    drop(first);
    second.grow_to(16 * MIB).expect("given back");
    budget.begin(user(2)).grow_to(16 * MIB).expect("its own");
    drop(second);
    assert!(budget.used.lock().accounts.is_empty());
    assert_eq!(budget.used.lock().total, 0);
}

#[test]
fn the_last_quarter_is_for_small_bodies() {
    let budget = Arc::new(ByteBudget::of_bodies(64 * MIB));
    let mut large: Vec<_> = (0..3).map(|number| budget.begin(user(number))).collect();
    for body in &mut large {
        body.grow_to(16 * MIB).expect("its share");
    }
    let refusal = budget.begin(user(9)).grow_to(2 * MIB).expect_err("large");
    assert_eq!((refusal.whose, refusal.limit), ("all requests", 48 * MIB));
    budget.begin(user(9)).grow_to(MIB).expect("small");
}

#[test]
fn anonymous_connections_share_a_quarter() {
    let budget = Arc::new(ByteBudget::of_bodies(8 * MIB));
    let mut first = budget.begin(Account::Connection(1));
    first.grow_to(MIB).expect("its share");
    first.grow_to(MIB + 1).expect_err("more than its share");
    let mut second = budget.begin(Account::Connection(2));
    second.grow_to(MIB).expect("its share");
    let mut third = budget.begin(Account::Connection(3));
    let refusal = third.grow_to(1).expect_err("the quarter is used up");
    assert_eq!(refusal.limit, 2 * MIB);
    budget.begin(user(1)).grow_to(2 * MIB).expect("a user");
    drop(first);
    third.grow_to(MIB).expect("given back");
}

#[test]
fn an_account_gets_one_answer_of_any_size_or_many_within_its_share() {
    let budget = Arc::new(ByteBudget::of_answers(64 * MIB));
    let answer = |number, size| budget.charge(user(number), vec![0_u8; size * MIB]);
    let large = answer(1, 40).expect("its only answer");
    let refusal = answer(1, 1).expect_err("over the share").to_string();
    assert!(refusal.contains("max_unread_answer_bytes"), "{refusal}");
    budget.check_share(user(1)).expect_err("over the share");
    budget.check_share(user(2)).expect("another account");
    answer(2, 9).expect_err("the budget for large answers is used up");
    let small = answer(2, 1).expect("small");
    let shortages = budget.take_shortages();
    let expected = HashSet::from([Shortage::Of(user(1)), Shortage::OfAll]);
    assert_eq!(shortages, expected);
    // A part of the bytes keeps all of them in memory.
    let part = large.slice(10..20);
    drop((large, small));
    assert_eq!(budget.total(), 40 * MIB);
    drop(part);
    assert_eq!(budget.total(), 0);
    assert!(budget.used.lock().accounts.is_empty());
}

#[test]
fn small_bodies_use_the_allowance_and_then_the_share() {
    const BODY: usize = 16 * 1024;
    let budget = Arc::new(ByteBudget::of_bodies(64 * MIB));
    // The users 1 and 65 have the same counter, which allows 256 KiB.
    let hold_all = |account| {
        let mut held = Vec::new();
        while let Ok(body) = budget.charge(account, vec![0_u8; BODY]) {
            held.push(body);
        }
        held.len()
    };
    let sessions = Account::Sessions(uuid::Uuid::from_u128(1).into());
    let charge = |_| budget.charge(user(1), vec![0_u8; BODY]).expect("allowed");
    let held: Vec<_> = (0..16).map(charge).collect();
    assert_eq!((budget.total(), budget.all_bytes()), (0, 256 * 1024));
    // The share of each user is the same, whether or not the counter is used up.
    assert_eq!(hold_all(user(1)), 1_024);
    assert_eq!(hold_all(user(65)), 1_024);
    let share = budget.charge(user(1), vec![0_u8; 16 * MIB]);
    let share = share.expect("the whole share");
    assert_eq!(hold_all(user(1)), 0);
    assert_eq!(hold_all(sessions), 1_024);
    drop(share);
    assert_eq!(hold_all(user(2)), 1_024 + 16);
    drop(held);
    assert_eq!(hold_all(user(1)), 1_024 + 16);
    assert_eq!(budget.all_bytes(), 0);
    assert!(budget.used.lock().accounts.is_empty());
}

#[test]
fn a_complete_body_holds_its_true_size_until_its_last_part_is_dropped() {
    let budget = Arc::new(ByteBudget::of_bodies(64 * MIB));
    let mut body = budget.begin(user(1));
    body.grow_to(2 * MIB).expect("the buffer has doubled");
    let body = body.settle(MIB + 1).expect("smaller");
    assert_eq!(budget.total(), MIB + 1);
    // The copy for the link counts beside the body.
    let frame = budget.charge(user(1), vec![0_u8; MIB]).expect("a frame");
    assert_eq!(budget.total(), 2 * MIB + 1);
    drop(body);
    let part = frame.slice(1..2);
    drop(frame);
    assert_eq!(budget.total(), MIB);
    drop(part);
    assert_eq!(budget.all_bytes(), 0);
}
