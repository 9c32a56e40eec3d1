use std::collections::BTreeMap;

use svc_core::{
    SpaceName, Timestamp, UserId,
    space::{Health, HealthCheck, Runtime},
};
use uuid::Uuid;

use super::*;

const HERE: ServerId = ServerId(Uuid::from_u128(1));
const ELSEWHERE: ServerId = ServerId(Uuid::from_u128(2));

fn row(state: State, stop_reason: Option<StopReason>, node_id: Option<ServerId>) -> SpaceRow {
    SpaceRow {
        id: SpaceId(Uuid::from_u128(3)),
        name: SpaceName::parse("lab").expect("valid"),
        owner_id: UserId(Uuid::from_u128(4)),
        state,
        stop_reason,
        health: Health::Unknown,
        runtime: Runtime::External,
        template_id: None,
        startup_script_id: None,
        health_check: HealthCheck::default(),
        node_id,
        space_urls: BTreeMap::new(),
        created_at: Timestamp::default(),
        started_at: None,
        stopped_at: None,
        deleted_at: None,
    }
}

#[test]
fn a_side_link_needs_a_home_link_of_the_same_agent_at_another_server() {
    let check = |row: Option<SpaceRow>, is_same_agent, expected: Option<RefusalCode>| {
        let refused = check_home(row.as_ref(), is_same_agent, HERE).err();
        assert_eq!(refused.map(|refusal| refusal.code), expected, "{row:?}");
    };
    let deployed = |node| Some(row(State::Deployed, None, Some(node)));
    check(deployed(ELSEWHERE), true, None);
    check(deployed(ELSEWHERE), false, Some(RefusalCode::NoHome));
    check(deployed(HERE), true, Some(RefusalCode::HomeHere));
    check(None, true, Some(RefusalCode::Unauthorized));
    let deleted = row(State::Deleted, None, None);
    check(Some(deleted), true, Some(RefusalCode::Unauthorized));
    let stopped = |reason| Some(row(State::Stopped, Some(reason), Some(ELSEWHERE)));
    let requested = stopped(StopReason::Requested);
    check(requested, true, Some(RefusalCode::SpaceStopped));
    let lost = stopped(StopReason::LinkLost);
    check(lost, true, Some(RefusalCode::NoHome));
}

#[test]
fn a_side_link_ends_with_its_space_or_with_its_agent() {
    let check = |row: Option<SpaceRow>, is_same_agent, expected| {
        let goodbye = side_goodbye(row.as_ref(), is_same_agent);
        assert_eq!(goodbye, expected, "{row:?}");
    };
    let deployed = || Some(row(State::Deployed, None, Some(ELSEWHERE)));
    check(deployed(), true, None);
    check(deployed(), false, Some(Goodbye::Replaced));
    check(None, true, Some(Goodbye::Revoked));
    let stopped = |reason| Some(row(State::Stopped, Some(reason), Some(ELSEWHERE)));
    let requested = stopped(StopReason::Requested);
    check(requested, true, Some(Goodbye::SpaceStopped));
    let lost = stopped(StopReason::LinkLost);
    check(lost, true, Some(Goodbye::Reconnect));
    // The home link is about to replace the side link.
    let here = row(State::Deployed, None, Some(HERE));
    check(Some(here), true, None);
}
