//! The targets by name. Each target takes any bytes and must return: a panic, a hang or too much
//! memory is a finding. Where a second way to get the result exists (serde, a round trip, a slower
//! function), the target compares both results.

mod archive;
mod documents;
mod events;
mod http;
mod jose;
mod jsonrpc;
mod link;
mod mcp;
mod oauth;
mod sources;
mod webauthn;
mod worker;

use std::borrow::Cow;

pub type Target = fn(&[u8]);

/// `fuzz/run` reads the names from these lines.
pub const TARGETS: &[(&str, Target)] = &[
    ("jsonrpc_body", jsonrpc::body),
    ("jsonrpc_child_line", jsonrpc::child_line),
    ("http_head", jsonrpc::http_head),
    ("http_answer", http::answer),
    ("host", http::host),
    ("mcp_message", mcp::message),
    ("link_frames", link::frames),
    ("worker_frames", worker::frames),
    ("registration", documents::registration),
    ("api_document", documents::api_document),
    ("schema", documents::schema),
    ("json_text", documents::json_text),
    ("pattern", events::pattern),
    ("template", events::template),
    ("filter", events::filter),
    ("cron", events::cron),
    ("source_request", sources::request),
    ("oauth_params", oauth::params),
    ("client_document", oauth::client_document),
    ("jose", jose::tokens),
    ("webauthn", webauthn::answers),
    ("library_archive", archive::libraries),
];

/// The maximum size of a long input, as in `fuzz/run`: the longest template.
const LONG_MAX: usize = 16 * 1024;

/// Repeats a part of an input up to a limit, because the engine seldom finds deep inputs by itself.
/// Such an input is two bytes `0xff`, a byte for the size, and three parts, separated by `0xff`: the
/// text before, the repeated text, and the text after. No text contains this byte.
pub fn expand(data: &[u8]) -> Cow<'_, [u8]> {
    let Some([size, rest @ ..]) = data.strip_prefix(&[0xff, 0xff]) else {
        return Cow::Borrowed(data);
    };
    let mut parts = rest.splitn(3, |byte| *byte == 0xff);
    let [before, repeated, after] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    let size = (64 << (size % 9)).min(LONG_MAX);
    let room = usize::saturating_sub(size, before.len() + after.len());
    let count = room.checked_div(repeated.len()).unwrap_or(0);
    Cow::Owned([before, &repeated.repeat(count), after].concat())
}

/// The input as text; `None` if it is not UTF-8.
fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// The parts of an input, separated by zero bytes. Missing parts are empty.
fn parts<const N: usize>(data: &[u8]) -> [&[u8]; N] {
    let mut parts = data.splitn(N, |byte| *byte == 0);
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}

/// Changes bytes. Each change is the position in two bytes and the bits to flip.
fn change(bytes: &mut [u8], changes: &[u8]) {
    for [high, low, bits] in changes.as_chunks::<3>().0 {
        let at = usize::from(u16::from_be_bytes([*high, *low])) % bytes.len();
        bytes[at] ^= bits;
    }
}
