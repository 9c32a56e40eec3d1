use super::*;

fn list(text: &str) -> Vec<Pattern> {
    Pattern::parse_list(text).expect("valid")
}

#[test]
fn a_lane_with_many_patterns_has_their_common_prefix_as_its_key() {
    let check = |patterns: &str, expected: &str| {
        assert_eq!(keys(&list(patterns)), list(expected), "{patterns}");
    };
    check("*", "*");
    check("custom.a,space.*", "custom.a,space.*");
    let many = |prefix: &str| {
        let patterns: Vec<_> = (10..=10 + KEYS_MAX)
            .map(|n| format!("{prefix}{n}.*"))
            .collect();
        patterns.join(",")
    };
    check(&many("custom.app"), "custom.app*");
    check(&format!("{},*", many("custom.app")), "*");
    check(&format!("space.x,{}", many("custom.app")), "*");
    check(&format!("custom.all,{}", many("custom.app")), "custom.a*");
}

#[test]
fn every_event_that_a_pattern_matches_is_found() {
    let types = ["custom.a", "custom.a.b", "custom.ab", "space.started", "x"];
    let lists = [
        "*",
        "custom.a",
        "custom.a*",
        "custom.a.*",
        "custom.a.b,x",
        "space.*,custom.*",
    ];
    for patterns in lists.map(list) {
        for event_type in types {
            let matches = patterns.iter().any(|pattern| pattern.matches(event_type));
            assert_eq!(
                finds(&patterns, event_type),
                matches,
                "{patterns:?} {event_type}"
            );
        }
    }
}
