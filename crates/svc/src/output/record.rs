//! The fields of a record that is shown alone.

/// The names and values of a record.
pub type Fields = Vec<(&'static str, String)>;

/// The fields of a record: `"name" member = text`, or `"name" = text` for a text of several members.
/// An optional text without a value makes no field. Members after `without` make none of their own.
/// A member that the list lacks does not compile.
macro_rules! fields {
    ($record:ident as $kind:ident $(, without $($hidden:ident),*)?:
        $($name:literal $($member:ident)? = $text:expr,)*) => {{
        let $kind { $($($member,)?)* $($($hidden: _,)*)? } = $record;
        $crate::output::present([$(($name, $text.into())),*])
    }};
}

pub(crate) use fields;

/// The fields that have a text.
pub fn present<const N: usize>(fields: [(&'static str, Option<String>); N]) -> Fields {
    let fields = fields.into_iter();
    fields
        .filter_map(|(name, text)| Some((name, text?)))
        .collect()
}
