mod precedence;

use std::{collections::BTreeMap, sync::atomic::Ordering};

use serde_json::json;
use svc_core::{
    GroupId, Permission, Permissions, Quota, SpaceName, UserName, registration::Registration,
};
use svc_link::SpaceIdentity;
use uuid::Uuid;

use super::*;

const ANN: UserId = UserId(Uuid::from_u128(1));
const BOB: UserId = UserId(Uuid::from_u128(2));
const OPS: GroupId = GroupId(Uuid::from_u128(9));

fn space(number: u128, owner: UserId) -> Arc<LiveSpace> {
    let identity = SpaceIdentity {
        id: SpaceId(Uuid::from_u128(number)),
        name: SpaceName::parse(&format!("s{number}")).expect("valid"),
        owner: UserName::parse("ann").expect("valid"),
        urls: BTreeMap::new(),
    };
    let live = LiveSpace::new(owner, identity);
    live.set_availability(Availability::Ready);
    Arc::new(live)
}

fn viewer(id: UserId, groups: &[GroupId]) -> Viewer<'_> {
    Viewer {
        id,
        permissions: Permissions::of(&[Permission::UseMethods]),
        groups,
    }
}

/// One registration: method name, description, scope.
fn publication(
    space: &Arc<LiveSpace>,
    methods: &[(&str, &str, &str)],
    groups: Option<Vec<GroupId>>,
) -> Publication {
    let methods: Vec<_> = methods
        .iter()
        .map(|(name, description, scope)| {
            json!({"name": name, "local_name": "x", "description": description, "scope": scope, "mcp_tool": true})
        })
        .collect();
    let document = json!({"server": {"command": "x"}, "methods": methods});
    let registration: Registration = serde_json::from_value(document).expect("well-formed");
    let checked = registration
        .check(&space.name, &space.identity.owner)
        .expect("a valid registration");
    Publication {
        space: Arc::clone(space),
        server: checked.server,
        methods: checked
            .methods
            .into_iter()
            .map(|m| Definition::new(m, groups.clone()))
            .collect(),
        generation: 1,
        place: None,
        replace_conflicting: false,
        accepted_elsewhere: false,
        quotas: Quotas::default(),
    }
}

fn publish(registry: &Registry, publication: &Publication) -> Result<u64, Conflict> {
    let mut given = 0;
    registry.publish(publication, 1_000, |place| given = place)?;
    Ok(given)
}

fn picked(registry: &Registry, name: &str) -> Result<SpaceId, PickError> {
    registry
        .pick(viewer(ANN, &[]), ANN, name, &[])
        .map(|provider| provider.space.id)
}

fn names(registry: &Registry, viewer: Viewer<'_>) -> Vec<String> {
    let visible = registry.list_visible(viewer);
    let mut names: Vec<_> = visible
        .iter()
        .map(|(_, e)| e.definition.name.to_string())
        .collect();
    names.sort();
    names
}

#[test]
fn d1_several_spaces_may_offer_one_definition() {
    let (registry, one, two) = (Registry::default(), space(1, ANN), space(2, ANN));
    publish(
        &registry,
        &publication(&one, &[("a.b", "same", "private")], None),
    )
    .expect("first");
    publish(
        &registry,
        &publication(&two, &[("a.b", "same", "private")], None),
    )
    .expect("equal");
    let refused = publish(
        &registry,
        &publication(&two, &[("a.b", "other", "private")], None),
    );
    assert_eq!(
        refused,
        Err(Conflict::Definition {
            method: "a.b".into(),
            space: "s1".into()
        })
    );
    // The earlier registration is still in effect.
    assert_eq!(registry.count_of(two.id), 1);
}

#[test]
fn d1_applies_only_among_the_spaces_of_one_owner() {
    let (registry, one, two) = (Registry::default(), space(1, ANN), space(2, BOB));
    publish(
        &registry,
        &publication(&one, &[("a.b", "one", "private")], None),
    )
    .expect("ann's");
    publish(
        &registry,
        &publication(&two, &[("a.b", "two", "private")], None),
    )
    .expect("bob's");
}

#[test]
fn d1_replace_conflicting_removes_the_methods_of_other_spaces() {
    let (registry, one, two) = (Registry::default(), space(1, ANN), space(2, ANN));
    let first = [("a.b", "one", "private"), ("a.c", "kept", "private")];
    publish(&registry, &publication(&one, &first, None)).expect("first");
    let mut second = publication(&two, &[("a.b", "two", "private")], None);
    second.replace_conflicting = true;
    let displaced = registry.publish(&second, 2_000, |_| {}).expect("replaces");
    assert_eq!(displaced.len(), 1);
    assert_eq!(registry.count_of(one.id), 1);
    assert_eq!(picked(&registry, "a.b"), Ok(two.id));
    assert_eq!(picked(&registry, "a.c"), Ok(one.id));
}

/// `a.b` conflicts twice: by its definition, and with `a_b` by its tool name.
#[test]
fn d1_a_method_that_conflicts_twice_is_replaced_once() {
    let (registry, one, two) = (Registry::default(), space(1, ANN), space(2, ANN));
    publish(
        &registry,
        &publication(&one, &[("a.b", "one", "private")], None),
    )
    .expect("first");
    let mut second = publication(&two, &[("a.b", "two", "private")], None);
    let hidden = Arc::get_mut(&mut second.methods[0].0).expect("not shared");
    hidden.tool_name = None;
    let tool = publication(&two, &[("a_b", "three", "private")], None);
    second.methods.extend(tool.methods);
    second.replace_conflicting = true;
    let displaced = registry.publish(&second, 2_000, |_| {}).expect("replaces");
    assert_eq!(displaced.len(), 1);
}

#[test]
fn two_methods_of_one_owner_never_share_a_tool_name() {
    let (registry, one, two) = (Registry::default(), space(1, ANN), space(2, ANN));
    publish(
        &registry,
        &publication(&one, &[("a.b", "d", "private")], None),
    )
    .expect("first");
    let refused = publish(
        &registry,
        &publication(&two, &[("a_b", "d", "private")], None),
    );
    assert!(matches!(refused, Err(Conflict::Tool { .. })));
    // The same space may rename its method.
    publish(
        &registry,
        &publication(&one, &[("a_b", "d", "private")], None),
    )
    .expect("renamed");
}

#[test]
fn d2_picks_the_available_provider_with_the_fewest_calls_then_the_first_registered() {
    let (registry, one, two) = (Registry::default(), space(1, ANN), space(2, ANN));
    let method = [("a", "d", "private")];
    publish(&registry, &publication(&one, &method, None)).expect("first");
    publish(&registry, &publication(&two, &method, None)).expect("second");
    assert_eq!(picked(&registry, "a"), Ok(one.id));
    let first = registry
        .pick(viewer(ANN, &[]), ANN, "a", &[])
        .expect("a target");
    first.in_flight.fetch_add(1, Ordering::Relaxed);
    assert_eq!(picked(&registry, "a"), Ok(two.id));
    two.set_availability(Availability::Restarting);
    assert_eq!(picked(&registry, "a"), Ok(one.id));
    one.set_availability(Availability::Unlinked);
    assert_eq!(picked(&registry, "a"), Ok(two.id));
    two.set_availability(Availability::Unlinked);
    assert_eq!(picked(&registry, "a"), Err(PickError::Unavailable));
    assert_eq!(picked(&registry, "b"), Err(PickError::NotFound));
}

#[test]
fn d2_a_provider_that_keeps_its_place_stays_first() {
    let (registry, one, two) = (Registry::default(), space(1, ANN), space(2, ANN));
    let method = [("a", "d", "private")];
    let place = publish(&registry, &publication(&one, &method, None)).expect("first");
    publish(&registry, &publication(&two, &method, None)).expect("second");
    let mut again = publication(&one, &method, None);
    again.place = Some(place);
    publish(&registry, &again).expect("re-registered");
    assert_eq!(picked(&registry, "a"), Ok(one.id));
    // A new registration goes to the end.
    publish(&registry, &publication(&one, &method, None)).expect("registered again");
    assert_eq!(picked(&registry, "a"), Ok(two.id));
}

#[test]
fn a_new_registration_keeps_the_count_of_calls_in_flight() {
    let (registry, one) = (Registry::default(), space(1, ANN));
    let method = [("a", "d", "private")];
    publish(&registry, &publication(&one, &method, None)).expect("first");
    let provider = registry
        .pick(viewer(ANN, &[]), ANN, "a", &[])
        .expect("a target");
    provider.in_flight.fetch_add(1, Ordering::Relaxed);
    publish(&registry, &publication(&one, &method, None)).expect("again");
    let provider = registry
        .pick(viewer(ANN, &[]), ANN, "a", &[])
        .expect("a target");
    assert_eq!(provider.in_flight.load(Ordering::Relaxed), 1);
}

#[test]
fn lists_follow_visibility_and_withdrawal() {
    let (registry, one, two) = (Registry::default(), space(1, ANN), space(2, ANN));
    let methods = [("own", "d", "private"), ("all", "d", "shared")];
    publish(&registry, &publication(&one, &methods, None)).expect("first");
    publish(
        &registry,
        &publication(&two, &[("ops", "d", "shared")], Some(vec![OPS])),
    )
    .expect("second");
    assert_eq!(names(&registry, viewer(ANN, &[])), ["all", "ops", "own"]);
    assert_eq!(names(&registry, viewer(BOB, &[])), ["all"]);
    assert_eq!(names(&registry, viewer(BOB, &[OPS])), ["all", "ops"]);
    assert_eq!(
        registry.pick(viewer(BOB, &[]), ANN, "ops", &[]).err(),
        Some(PickError::NotFound)
    );
    assert_eq!(registry.withdraw(one.id), 2);
    assert_eq!(names(&registry, viewer(BOB, &[OPS])), ["ops"]);
    assert_eq!(registry.withdraw(two.id), 1);
    assert_eq!(registry.method_count(), 0);
    assert!(names(&registry, viewer(ANN, &[])).is_empty());
}

#[test]
fn methods_are_counted_for_a_viewer_and_by_owner() {
    let (registry, one, two) = (Registry::default(), space(1, ANN), space(2, BOB));
    for space in [&one, &two] {
        let methods = [("a.b", "x", "shared"), ("a.c", "x", "private")];
        publish(&registry, &publication(space, &methods, None)).expect("published");
    }
    let everyone = |_| true;
    let anns = Some(viewer(ANN, &[]));
    assert_eq!(registry.count_seen(anns, everyone), (3, 2));
    assert_eq!(registry.count_seen(None, everyone), (4, 2));
    assert_eq!(registry.count_seen(anns, |owner| owner != BOB), (2, 1));
    assert_eq!(registry.count_seen(None, |owner| owner != BOB), (2, 1));
    two.set_availability(Availability::Unlinked);
    assert_eq!(registry.count_seen(anns, everyone), (3, 1));
}

#[test]
fn an_owner_publishes_as_many_distinct_methods_as_the_quota_allows() {
    let registry = Registry::default();
    let (one, two, of_bob) = (space(1, ANN), space(2, ANN), space(3, BOB));
    let publish = |space: &Arc<LiveSpace>, names: &[&str], limit: u64| {
        let methods: Vec<_> = names.iter().map(|name| (*name, "d", "private")).collect();
        let mut publication = publication(space, &methods, None);
        publication.quotas.methods = limit;
        publish(&registry, &publication).map(|_| ())
    };
    let exceeded = |wanted, limit| {
        Err(Conflict::Quota(QuotaExceeded {
            quota: Quota::Methods,
            wanted,
            limit,
        }))
    };
    assert_eq!(publish(&one, &["a", "b", "c", "d"], 3), exceeded(4, 3));
    assert_eq!(publish(&one, &["a", "b"], 3), Ok(()));
    // A method that two spaces offer counts once.
    assert_eq!(publish(&two, &["b", "c", "d"], 3), exceeded(4, 3));
    assert_eq!(publish(&two, &["b", "c"], 3), Ok(()));
    // Replaced methods do not count, unless another space offers them too.
    assert_eq!(publish(&one, &["d", "e"], 3), exceeded(4, 3));
    assert_eq!(publish(&one, &["d"], 3), Ok(()));
    // Other owners are not affected.
    assert_eq!(publish(&of_bob, &["a", "b", "c"], 3), Ok(()));
    // A lowered quota removes no method, and a registration that adds no method is accepted.
    assert_eq!(publish(&one, &["d"], 1), Ok(()));
    assert_eq!(publish(&one, &["e"], 1), Ok(()));
    assert_eq!(publish(&one, &["e", "f"], 1), exceeded(4, 1));
    assert_eq!(registry.count_of(one.id), 1);
}

#[test]
fn methods_taken_from_another_space_do_not_count_twice() {
    let (registry, one, two) = (Registry::default(), space(1, ANN), space(2, ANN));
    publish(
        &registry,
        &publication(
            &one,
            &[("a.b", "d", "private"), ("c", "d", "private")],
            None,
        ),
    )
    .expect("first");
    // `a_b` is the same MCP tool as `a.b`, which the replacement removes.
    let taking = Publication {
        replace_conflicting: true,
        quotas: Quotas {
            methods: 2,
            ..Quotas::default()
        },
        ..publication(
            &two,
            &[("a_b", "d", "private"), ("c", "new", "private")],
            None,
        )
    };
    assert_eq!(registry.check(&taking), Ok(()));
    publish(&registry, &taking).expect("within the quota");
    assert_eq!(registry.method_count(), 2);
}

#[test]
fn the_definitions_of_an_owner_have_a_limit_in_bytes() {
    let registry = Registry::default();
    let (one, two) = (space(1, ANN), space(2, ANN));
    let megabytes = |space: &Arc<LiveSpace>, name: &str, megabytes: usize| {
        let mut publication = publication(space, &[(name, "d", "private")], None);
        publication.quotas.methods = 10;
        let (definition, _) = &mut publication.methods[0];
        let definition = Arc::get_mut(definition).expect("not shared yet");
        definition.description = "x".repeat(megabytes << 20);
        definition.bytes = definition.description.len();
        publish(&registry, &publication).map(|_| ())
    };
    assert_eq!(megabytes(&one, "a", 3), Ok(()));
    let refused = megabytes(&two, "b", 2).expect_err("5 MiB");
    assert_eq!(
        refused,
        Conflict::DefinitionBytes {
            wanted: 5 << 20,
            limit: 4 << 20
        }
    );
    assert!(refused.to_string().contains("quotas.methods"), "{refused}");
    assert_eq!(megabytes(&two, "b", 1), Ok(()));
    // If the definition of a method grows, only the additional bytes are counted.
    assert!(megabytes(&two, "b", 2).is_err());
    assert_eq!(megabytes(&one, "a", 2), Ok(()));
    assert_eq!(megabytes(&two, "b", 2), Ok(()));
    registry.withdraw(one.id);
    assert_eq!(megabytes(&two, "b", 4), Ok(()));
}

#[test]
fn an_unchanged_registration_keeps_the_tools_of_all_users() {
    let (registry, one) = (Registry::default(), space(1, ANN));
    let methods = [("a.b", "same", "shared"), ("a.c", "same", "private")];
    let seen = || registry.tools_version(viewer(BOB, &[]));
    let place = publish(&registry, &publication(&one, &methods, None)).expect("first");
    let before = seen();
    let again = |methods: &[_], place| {
        let publication = Publication {
            place,
            generation: 2,
            ..publication(&one, methods, None)
        };
        publish(&registry, &publication).expect("no conflict");
        seen()
    };
    assert_eq!(again(&methods, Some(place)), before);
    assert_eq!(picked(&registry, "a.b"), Ok(one.id));
    // A later place may change which of two tools with one name is listed.
    let moved = again(&methods, None);
    assert_ne!(moved, before);
    let changed = [("a.b", "other", "shared"), ("a.c", "same", "private")];
    let changed = again(&changed, Some(place));
    assert_ne!(changed, moved);
    assert_ne!(again(&[("a.c", "same", "private")], Some(place)), changed);
}
