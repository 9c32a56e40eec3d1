//! W3C Trace Context: the ids that connect the spans of one trace across processes.

use std::fmt;

/// The maximum number of characters of a `tracestate`. A longer `tracestate` is not passed on.
pub const STATE_MAX: usize = 512;
/// The maximum number of members of a `tracestate`.
const STATE_MEMBERS_MAX: usize = 32;
/// Flag: the sender records this trace.
const SAMPLED: u8 = 1;
/// The flags that are passed on: `sampled`, and whether the trace id is random.
const KNOWN_FLAGS: u8 = 0b11;

/// The trace and the span that a request continues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceContext {
    pub trace: u128,
    /// The span of the sender, which is the parent of the receiver's span.
    pub span: u64,
    flags: u8,
    /// The `tracestate`: data of the sender's tracing systems, which is passed on.
    state: Option<Box<str>>,
}

impl TraceContext {
    /// The context of a new trace that this service records.
    pub fn recorded(trace: u128, span: u64) -> Self {
        Self {
            trace,
            span,
            flags: SAMPLED,
            state: None,
        }
    }

    /// Reads a `traceparent` and a `tracestate`. `None` if the `traceparent` is not valid. A
    /// `tracestate` that is not valid is ignored.
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let mut parts = traceparent.split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        // Later versions may add parts; version `ff` is not valid.
        let is_complete = parts.next().is_none() || version != "00";
        let is_valid = is_hex(version, 2)
            && version != "ff"
            && is_hex(trace, 32)
            && is_hex(span, 16)
            && is_hex(flags, 2);
        if !is_valid || !is_complete {
            return None;
        }
        let trace = u128::from_str_radix(trace, 16).ok()?;
        let span = u64::from_str_radix(span, 16).ok()?;
        let flags = u8::from_str_radix(flags, 16).ok()?;
        (trace != 0 && span != 0).then(|| Self {
            trace,
            span,
            flags: flags & KNOWN_FLAGS,
            state: tracestate.and_then(check_state).map(Into::into),
        })
    }

    /// Whether the sender records the trace.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The context of a span that this service records and that continues this context.
    pub fn with_span(&self, span: u64) -> Self {
        Self {
            span,
            flags: self.flags | SAMPLED,
            ..self.clone()
        }
    }

    /// The value of the header `traceparent`.
    pub fn traceparent(&self) -> String {
        format!(
            "00-{:032x}-{:016x}-{:02x}",
            self.trace, self.span, self.flags
        )
    }

    /// The value of the header `tracestate`.
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// Reads the text that [`fmt::Display`] writes.
    pub fn from_text(text: &str) -> Option<Self> {
        match text.split_once(' ') {
            Some((parent, state)) => Self::parse(parent, Some(state)),
            None => Self::parse(text, None),
        }
    }
}

/// The `traceparent`, then a space and the `tracestate` if there is one.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.traceparent())?;
        match self.tracestate() {
            Some(state) => write!(f, " {state}"),
            None => Ok(()),
        }
    }
}

fn is_hex(text: &str, digits: usize) -> bool {
    let is_lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == digits && text.bytes().all(is_lower_hex)
}

/// Trims a `tracestate`. `None` if it cannot be passed on in a header.
fn check_state(state: &str) -> Option<&str> {
    let state = state.trim();
    let members = || state.split(',').map(str::trim);
    let is_valid = state.len() <= STATE_MAX
        && state.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && members().count() <= STATE_MEMBERS_MAX
        && members().all(|member| member.is_empty() || member.contains('='))
        && members().any(|member| !member.is_empty());
    is_valid.then_some(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn only_valid_trace_parents_are_read() {
        let check = |text: &str, expected| {
            let trace = TraceContext::parse(text, None).map(|context| context.trace);
            assert_eq!(trace, expected, "{text}");
        };
        let trace = Some(0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
        check(&format!("00-{ID}-b7ad6b7169203331-01"), trace);
        check(&format!("01-{ID}-b7ad6b7169203331-01-new"), trace);
        check(&format!("00-{ID}-b7ad6b7169203331-01-new"), None);
        check(&format!("ff-{ID}-b7ad6b7169203331-01"), None);
        check(&format!("00-{ID}-0000000000000000-01"), None);
        check(&format!("00-{ID}-b7ad6b7169203331-1"), None);
        check(
            &format!("00-{}-b7ad6b7169203331-01", ID.to_uppercase()),
            None,
        );
        check(&format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)), None);
        check(
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            None,
        );
        check("", None);
    }

    #[test]
    fn a_context_is_written_as_it_was_read() {
        for flags in ["00", "01", "02", "03"] {
            let parent = format!("00-{ID}-b7ad6b7169203331-{flags}");
            let context = TraceContext::parse(&parent, Some("a=1,b=2")).expect("valid");
            assert_eq!(context.traceparent(), parent);
            assert_eq!(context.is_sampled(), flags == "01" || flags == "03");
            let text = context.to_string();
            assert_eq!(text, format!("{parent} a=1,b=2"));
            assert_eq!(TraceContext::from_text(&text), Some(context));
        }
        let parent = format!("cc-{ID}-b7ad6b7169203331-ff-later");
        let context = TraceContext::parse(&parent, None).expect("a later version");
        assert_eq!(
            context.to_string(),
            format!("00-{ID}-b7ad6b7169203331-03"),
            "unknown flags are not passed on"
        );
    }

    #[test]
    fn a_recorded_span_is_sampled_and_keeps_trace_and_state() {
        let parent = format!("00-{ID}-b7ad6b7169203331-00");
        let context = TraceContext::parse(&parent, Some("a=1")).expect("valid");
        let span = context.with_span(7);
        assert_eq!(span.to_string(), format!("00-{ID}-0000000000000007-01 a=1"));
        for (before, after) in [("00", "01"), ("01", "01"), ("02", "03"), ("03", "03")] {
            let parent = format!("00-{ID}-b7ad6b7169203331-{before}");
            let context = TraceContext::parse(&parent, None).expect("valid");
            let expected = format!("00-{ID}-0000000000000007-{after}");
            assert_eq!(context.with_span(7).to_string(), expected);
        }
    }

    #[test]
    fn a_new_trace_is_sampled_and_has_no_state() {
        let context = TraceContext::recorded(0xabc, 7);
        assert!(context.is_sampled());
        assert_eq!(context.tracestate(), None);
        let text = format!("00-{:0>32}-{:0>16}-01", "abc", "7");
        assert_eq!(context.to_string(), text);
        assert_eq!(TraceContext::from_text(&text), Some(context));
    }

    #[test]
    fn a_trace_state_that_is_too_long_or_not_a_list_is_ignored() {
        let parent = format!("00-{ID}-b7ad6b7169203331-01");
        let check = |state: &str, expected: Option<&str>| {
            let context = TraceContext::parse(&parent, Some(state)).expect("valid");
            assert_eq!(context.tracestate(), expected, "{state:?}");
        };
        check(
            "rojo=00f067aa0ba902b7,congo=t61",
            Some("rojo=00f067aa0ba902b7,congo=t61"),
        );
        check(" a=1 , ,b=2 ", Some("a=1 , ,b=2"));
        check("", None);
        check(" , ", None);
        check("a", None);
        check("a=1\nb=2", None);
        check("a=ü", None);
        let longest = format!("a={}", "x".repeat(510));
        check(&longest, Some(&longest));
        check(&(longest + "x"), None);
        let most = vec!["a=1"; 32].join(",");
        check(&most, Some(&most));
        check(&(most + ",a=1"), None);
    }
}
