//! The form of a cron expression. The parser of the library ignores empty elements of lists and
//! letters and digits that it does not need, so that `1,,2`, `JAN1` and `15W9` would be accepted.

/// The expression of a nickname that the library does not know; any other text unchanged.
pub(super) fn resolve(cron: &str) -> &str {
    match cron.trim().eq_ignore_ascii_case("@midnight") {
        true => "@daily",
        false => cron,
    }
}

/// Checks each element of each field. `Err` holds the reason. The library checks the values.
pub(super) fn check(cron: &str) -> Result<(), String> {
    if cron.trim_start().starts_with('@') {
        return Ok(());
    }
    for field in cron.split_whitespace() {
        // `+` before the day of week: the day of month must match too.
        let list = field.strip_prefix('+').unwrap_or(field);
        for element in list.split(',') {
            if element.is_empty() {
                return Err(format!("the list `{field}` has an empty element"));
            }
            if !is_element(element) {
                return Err(format!(
                    "`{element}` is not a value, a name, a range or a step"
                ));
            }
        }
    }
    Ok(())
}

/// `*`, `?`, `L`, `LW`, or a value or a range with a step, `#`, `L` or `W`.
fn is_element(element: &str) -> bool {
    let (values, step) = split(element, '/');
    let (values, nth) = split(values, '#');
    let is_whole =
        matches!(values, "*" | "?") || ["L", "LW"].iter().any(|it| values.eq_ignore_ascii_case(it));
    let is_nth = |nth: &str| is_digits(nth) || nth.eq_ignore_ascii_case("L");
    step.is_none_or(is_digits) && nth.is_none_or(is_nth) && (is_whole || is_range(values))
}

fn is_range(values: &str) -> bool {
    let is_value = |value: &str| {
        is_digits(value) || !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphabetic())
    };
    let without = |letter| values.strip_suffix(|c: char| c.eq_ignore_ascii_case(&letter));
    let plain = without('L')
        .or_else(|| without('W'))
        .filter(|it| is_digits(it));
    let (first, last) = split(plain.unwrap_or(values), '-');
    is_value(first) && last.is_none_or(is_value)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((first, rest)) => (first, Some(rest)),
        None => (text, None),
    }
}
