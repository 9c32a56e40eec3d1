//! Conflicts of registrations that different servers of a zone have accepted.

use super::*;

fn accepted(space: &Arc<LiveSpace>, description: &str, place: u64, replaces: bool) -> Publication {
    Publication {
        place: Some(place),
        replace_conflicting: replaces,
        accepted_elsewhere: true,
        ..publication(space, &[("a", description, "private")], None)
    }
}

/// The spaces from which a publication removes methods.
fn displaced(registry: &Registry, publication: &Publication) -> Result<Vec<SpaceId>, Conflict> {
    let displaced = registry.publish(publication, 1_000, |_| ())?;
    Ok(displaced.into_iter().map(|(space, _)| space).collect())
}

#[test]
fn d1_all_servers_keep_the_same_one_of_two_conflicting_registrations() {
    let (one, two) = (space(1, ANN), space(2, ANN));
    let kept = |first: &Publication, second: &Publication| {
        let registry = Registry::default();
        displaced(&registry, first).expect("no conflict yet");
        let is_second = displaced(&registry, second).is_ok();
        let picked = picked(&registry, "a").expect("one is kept");
        assert_eq!(picked == second.space.id, is_second);
        picked
    };
    for (replaces, expected) in [(false, one.id), (true, two.id)] {
        let earlier = accepted(&one, "d", 5, false);
        let later = accepted(&two, "other", 6, replaces);
        assert_eq!(kept(&earlier, &later), expected);
        assert_eq!(kept(&later, &earlier), expected);
    }
}

#[test]
fn an_earlier_registration_of_another_server_displaces_a_later_one_of_this_server() {
    let (registry, one, two) = (Registry::default(), space(1, ANN), space(2, ANN));
    let own = publication(
        &two,
        &[("a", "other", "private"), ("b", "d", "private")],
        None,
    );
    publish(&registry, &own).expect("accepted here");
    let moved = displaced(&registry, &accepted(&one, "d", 5, false));
    assert_eq!(moved, Ok(vec![two.id]));
    assert_eq!(picked(&registry, "a"), Ok(one.id));
    assert_eq!(picked(&registry, "b"), Ok(two.id));
    // An agent of this server gets an error, even if its registration has the earlier place.
    let again = Publication {
        place: Some(1),
        ..own
    };
    assert!(matches!(
        publish(&registry, &again),
        Err(Conflict::Definition { .. })
    ));
}
