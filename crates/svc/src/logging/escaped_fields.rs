//! Writes the fields of a log record as text for people. Escapes every unsafe character.

use std::fmt::{self, Debug, Write};

use svc_core::text::EscapingWriter;
use tracing::field::{Field, Visit};
use tracing_subscriber::{
    field::RecordFields,
    fmt::{FormatFields, format::Writer},
};

pub struct EscapedFields;

impl<'writer> FormatFields<'writer> for EscapedFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut visitor = Visitor {
            writer,
            is_first: true,
            result: Ok(()),
        };
        fields.record(&mut visitor);
        visitor.result
    }
}

struct Visitor<'a> {
    writer: Writer<'a>,
    is_first: bool,
    result: fmt::Result,
}

impl Visitor<'_> {
    fn write(&mut self, name: &str, value: fmt::Arguments<'_>) -> fmt::Result {
        if !std::mem::replace(&mut self.is_first, false) {
            self.writer.write_char(' ')?;
        }
        if name != "message" {
            let name = name.strip_prefix("r#").unwrap_or(name);
            if self.writer.has_ansi_escapes() {
                write!(self.writer, "\x1b[3m{name}\x1b[0m\x1b[2m=\x1b[0m")?;
            } else {
                write!(self.writer, "{name}=")?;
            }
        }
        EscapingWriter(&mut self.writer).write_fmt(value)
    }

    fn record(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        if self.result.is_ok() {
            self.result = self.write(field.name(), value);
        }
    }
}

impl Visit for Visitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.record(field, format_args!("{value}"));
        } else {
            self.record(field, format_args!("{value:?}"));
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.record(field, format_args!("{value}"));
        let mut source = value.source();
        while let Some(error) = source {
            if self.result.is_ok() {
                self.result = EscapingWriter(&mut self.writer).write_fmt(format_args!(": {error}"));
            }
            source = error.source();
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Fields `log.…` come from the `log` crate. The subscriber writes this metadata itself.
        if !field.name().starts_with("log.") {
            self.record(field, format_args!("{value:?}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing::{info, info_span, subscriber::with_default};
    use tracing_subscriber::{fmt::MakeWriter, layer::SubscriberExt};

    use super::*;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("one thread").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Log {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    fn logged(ansi: bool, log_something: impl FnOnce()) -> String {
        let log = Log::default();
        let layer = tracing_subscriber::fmt::layer()
            .with_writer(log.clone())
            .with_ansi(ansi)
            .with_target(false)
            .without_time()
            .fmt_fields(EscapedFields);
        with_default(tracing_subscriber::registry().with(layer), log_something);
        let bytes = log.0.lock().expect("one thread").clone();
        String::from_utf8(bytes).expect("logs are text")
    }

    #[test]
    fn a_record_is_one_line_with_any_text_in_its_fields() {
        let evil = "a\n2026-01-01 ERROR forged\u{1b}[31m\u{9b}\u{202e}\u{2028}\r";
        let error = std::io::Error::other(evil);
        let text = logged(false, || {
            let span = info_span!("space", name = %evil);
            let _entered = span.enter();
            info!(display = %evil, debug = ?evil, text = evil, error = &error as &dyn std::error::Error, "of {evil}");
        });
        assert_eq!(text.matches('\n').count(), 1, "{text:?}");
        assert!(text.ends_with('\n'), "{text:?}");
        let is_unsafe = |it: char| svc_core::text::is_unsafe(it) && it != '\n';
        assert!(!text.contains(is_unsafe), "{text:?}");
        for part in [
            "of a\\n2026",
            "display=a\\n2026",
            "text=\"a\\n2026",
            "error=a\\n",
        ] {
            assert!(text.contains(part), "{part} in {text:?}");
        }
    }

    #[test]
    fn names_of_fields_are_marked_on_a_terminal() {
        let text = logged(true, || info!(user.name = "ann", r#type = 5, "hello"));
        let plain = text.replace("\x1b[3m", "").replace("\x1b[2m", "");
        let plain = plain.replace("\x1b[0m", "").replace("\x1b[32m", "");
        assert_eq!(plain.trim(), "INFO hello user.name=\"ann\" type=5");
    }
}
