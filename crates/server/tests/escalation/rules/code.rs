//! The rule for the code of a space: its agent token never changes what other spaces execute, or
//! what acts for other users.

use super::changes::Judge;
use crate::{
    model::{Kind, Model},
    steps::Act,
};

impl Judge<'_> {
    pub(super) fn judge_code(&mut self, act: &Act) {
        let kind = self.caller.cred.map(|cred| &self.model.creds[cred].kind);
        let Some(Kind::Agent { space }) = kind else {
            return;
        };
        let (own, wide) = (*space, find_wide(self.model, *space, act));
        self.require(wide.is_none(), "code.other_space", || {
            let what = wide.unwrap_or_default();
            format!("the agent token of space {own} changed {what}")
        });
    }
}

/// What this change affects outside of the space.
fn find_wide(model: &Model, own: usize, act: &Act) -> Option<&'static str> {
    match act {
        Act::NewScript { kind, global, .. } => wide_script(*global, kind),
        Act::PatchScript { script, .. } | Act::DeleteScript { script } => {
            let record = &model.scripts[*script];
            let mut sinks = model.sinks.iter().filter(|sink| !sink.deleted);
            let is_of_global = sinks.any(|sink| sink.global && sink.script == Some(*script));
            let of_sink = is_of_global.then_some("the script of a global sink");
            wide_script(record.global, record.kind).or(of_sink)
        }
        Act::NewSink { global, .. } => global.then_some("a new global sink"),
        Act::ManageSink { sink, .. } | Act::DeleteSink { sink } => {
            model.sinks[*sink].global.then_some("a global sink")
        }
        Act::NewTemplate { .. } | Act::PatchTemplate { .. } | Act::DeleteTemplate { .. } => {
            Some("a template")
        }
        Act::PatchSpace { space, .. } => (*space != own).then_some("another space"),
        _ => None,
    }
}

fn wide_script(global: bool, kind: &str) -> Option<&'static str> {
    match kind {
        _ if global => Some("a global script"),
        "startup" => Some("a startup script"),
        "library" => Some("a library"),
        _ => None,
    }
}
