use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

const METHOD: DeliveryKind = DeliveryKind::Method;

fn owner(name: impl ToString) -> OwnerKey {
    name.to_string().into()
}

fn schedule(method: usize) -> Schedule {
    Schedule::new(Slots {
        method,
        ..Slots::default()
    })
}

/// Uses every granted slot, as if each owner had an endless number of due lanes.
fn use_all(schedule: &mut Schedule, now: Instant) -> HashMap<OwnerKey, usize> {
    let mut used: HashMap<_, usize> = HashMap::new();
    loop {
        let grants = schedule.plan(now);
        if grants.is_empty() {
            return used;
        }
        for grant in grants {
            *used.entry(grant.owner.clone()).or_default() += grant.slots;
            schedule.settle(&grant, grant.slots, Some(now));
        }
    }
}

#[test]
fn an_owner_with_endless_lanes_gets_a_quarter_of_the_slots_and_waits_without_cost() {
    let (mut schedule, now) = (schedule(256), Instant::now());
    schedule.note_due(METHOD, &owner("mallory"), now);
    let used = use_all(&mut schedule, now);
    assert_eq!(used, HashMap::from([(owner("mallory"), 64)]));
    // More lanes of mallory are due, but the engine has nothing to do until a delivery ends.
    assert_eq!(schedule.wait(now), None);
    assert!(schedule.has_waiting(METHOD));
    schedule.note_due(METHOD, &owner("ann"), now);
    assert_eq!(schedule.wait(now), Some(Duration::ZERO));
    let grants = schedule.plan(now);
    assert_eq!(grants[0].owner, owner("ann"));
    // Deliveries to methods use no slots of webhooks.
    schedule.note_due(DeliveryKind::Webhook, &owner("mallory"), now);
    assert!(!schedule.plan(now).is_empty());
}

#[test]
fn lanes_that_are_due_later_get_slots_later() {
    let (mut schedule, now) = (schedule(8), Instant::now());
    let later = now + Duration::from_secs(5);
    schedule.note_due(METHOD, &owner("ann"), later);
    assert_eq!(schedule.plan(now), []);
    assert_eq!(schedule.wait(now), Some(Duration::from_secs(5)));
    // The earlier of two times counts.
    schedule.note_due(METHOD, &owner("ann"), later + Duration::from_secs(1));
    let grants = schedule.plan(later);
    assert_eq!(grants.len(), 1);
    schedule.settle(&grants[0], 0, None);
    assert_eq!(schedule.wait(later), None);
}

/// The engine reads the store before a delivery ends, and settles the grant after the delivery
/// ended.
#[test]
fn a_report_during_a_grant_is_not_lost() {
    let (mut schedule, now) = (schedule(8), Instant::now());
    schedule.note_due(METHOD, &owner("ann"), now);
    let grants = schedule.plan(now);
    schedule.settle(&grants[0], 1, None);
    schedule.note_due(METHOD, &owner("ann"), now);
    let grants = schedule.plan(now);
    schedule.end(METHOD, &owner("ann"), now);
    schedule.settle(&grants[0], 0, None);
    assert_eq!(schedule.wait(now), Some(Duration::ZERO));
}

#[test]
fn paused_lanes_of_one_owner_are_retried_at_100_a_second() {
    let (mut schedule, now) = (schedule(8), Instant::now());
    let base = Duration::from_secs(1);
    let pauses: Vec<_> = (0..10_000)
        .map(|_| schedule.pause_time(&owner("mallory"), base, now))
        .collect();
    let within = |span: Duration| pauses.iter().filter(|pause| **pause <= base + span).count();
    assert_eq!(within(Duration::ZERO), 100);
    assert_eq!(within(Duration::from_secs(1)), 200);
    assert_eq!(within(Duration::from_secs(10)), 1_100);
    assert_eq!(schedule.pause_time(&owner("ann"), base, now), base);
}

#[derive(Clone, Debug)]
enum Step {
    Due(usize),
    Claim { lanes: usize },
    End(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..6_usize).prop_map(Step::Due),
        (0..20_usize).prop_map(|lanes| Step::Claim { lanes }),
        (0..6_usize).prop_map(Step::End),
    ]
}

proptest! {
    /// Slots are never lost or duplicated. No owner holds more than a quarter of the slots, rounded
    /// up. An owner without a slot gets one as soon as a lane is due and a slot is free.
    #[test]
    fn slots_are_neither_lost_nor_duplicated(
        capacity in 1..40_usize,
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut schedule = schedule(capacity);
        let mut now = Instant::now();
        let mut running = [0_usize; 6];
        for step in steps {
            now += Duration::from_millis(1);
            match step {
                Step::Due(who) => schedule.note_due(METHOD, &owner(who), now),
                Step::Claim { lanes } => claim(&mut schedule, &mut running, lanes, now),
                Step::End(who) if running[who] > 0 => {
                    running[who] -= 1;
                    schedule.end(METHOD, &owner(who), now);
                }
                Step::End(_) => {}
            }
            let free = schedule.kinds[METHOD.index()].slots.free();
            prop_assert_eq!(free + running.iter().sum::<usize>(), capacity);
            prop_assert!(running.iter().all(|held| *held <= capacity.div_ceil(4)));
        }
        for who in 0..6 {
            schedule.note_due(METHOD, &owner(who), now);
        }
        let granted: Vec<_> = schedule.plan(now).into_iter().map(|grant| grant.owner).collect();
        let free = schedule.kinds[METHOD.index()].slots.free();
        for who in (0..6).filter(|who| running[*who] == 0) {
            prop_assert!(free == 0 || granted.contains(&owner(who)), "{who} waits beside a free slot");
        }
    }
}

/// Settles all grants as if each owner had this number of due lanes.
fn claim(schedule: &mut Schedule, running: &mut [usize], lanes: usize, now: Instant) {
    for grant in schedule.plan(now) {
        let who: usize = grant.owner.parse().expect("a number");
        let used = lanes.min(grant.slots);
        running[who] += used;
        let next = (used == grant.slots).then_some(now);
        schedule.settle(&grant, used, next);
    }
}
