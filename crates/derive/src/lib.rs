//! `derive(Patch)`: the merge patch of a record (RFC 7396), from the body that creates the record.
//!
//! ```text
//! #[derive(Deserialize, Patch)]
//! #[patch(SchedulePatch of Schedule, "A merge patch.", example = json!({"active": false}))]
//! pub struct NewSchedule { … }
//! ```
//!
//! makes `SchedulePatch`, whose members are those of `NewSchedule` and may all be absent, and
//! `SchedulePatch::apply(self, &mut Schedule)`. `null` removes a member of the type `Option`; other
//! members refuse `null`. The limits in `schemars` are those of the body. A member cannot be forgotten: one that is not applied does not compile. Without `of`, the
//! patch has no `apply`. The description and the example may be absent.
//!
//! `NewSchedule::MEMBERS` are the names of its members, for audit entries.
//!
//! A member may say how it differs, such as `#[patch(merge, type = Members)]`:
//!
//! - `fixed`: it never changes, and the patch lacks it.
//! - `merge`: the patch of the member is itself merged. `apply` then returns a `Result`.
//! - `type = Type`: its type in the patch. `null` is refused unless it is an `Option`; in place of a
//!   member that is no `Option`, `null` means the default.
//! - `schema = Type`: the type of its schema, if that is another one.
//! - `doc = "…"`: its description in the patch.

mod member;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, Fields, Ident, LitStr, Result, Token, Type,
    parse::{Parse, ParseStream},
    parse_macro_input,
};

use self::member::Member;

#[proc_macro_derive(Patch, attributes(patch))]
pub fn patch(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let expanded = expand(&input).unwrap_or_else(|error| error.to_compile_error());
    expanded.into()
}

/// `SchedulePatch of Schedule, "A merge patch.", example = …`
struct Head {
    name: Ident,
    record: Option<Type>,
    description: Option<LitStr>,
    example: Option<Expr>,
}

impl Parse for Head {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut head = Self {
            name: input.parse()?,
            record: None,
            description: None,
            example: None,
        };
        loop {
            input.parse::<Option<Token![,]>>()?;
            if input.is_empty() {
                return Ok(head);
            }
            if input.peek(LitStr) {
                head.description = Some(input.parse()?);
                continue;
            }
            let word: Ident = input.parse()?;
            match word.to_string().as_str() {
                "of" => head.record = Some(input.parse()?),
                "example" => {
                    input.parse::<Token![=]>()?;
                    head.example = Some(input.parse()?);
                }
                _ => return Err(Error::new(word.span(), "expected `of` or `example`")),
            }
        }
    }
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let head = find(&input.attrs, "patch")
        .ok_or_else(|| Error::new(input.ident.span(), "`#[patch(…)]` is missing"))?;
    let head: Head = head.parse_args()?;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "a body is a struct"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new(input.ident.span(), "a body has named members"));
    };
    let all = fields.named.iter().map(Member::of);
    let all = all.collect::<Result<Vec<_>>>()?;
    let names = all.iter().map(Member::json_name);
    let members: Vec<_> = all.iter().filter(|member| !member.is_fixed).collect();
    let declared = members.iter().map(|member| member.declaration());
    let declared = declared.collect::<Result<Vec<_>>>()?;
    let apply = head
        .record
        .map(|record| apply(&members, &head.name, &record));
    let (name, body, visibility) = (&head.name, &input.ident, &input.vis);
    let description = head.description.map(|text| quote!(#[doc = #text]));
    let example = head
        .example
        .map(|example| quote!(#[schemars(example = #example)]));
    Ok(quote! {
        #description
        #[derive(Clone, Debug, Default, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        #example
        #visibility struct #name {
            #(#declared)*
        }

        #apply

        impl #body {
            /// The members that a user sets.
            #visibility const MEMBERS: &'static [&'static str] = &[#(#names),*];
        }
    })
}

/// The function that applies the patch to a record.
fn apply(members: &[&Member<'_>], patch: &Ident, record: &Type) -> TokenStream {
    let names = members.iter().map(|member| member.name);
    let applied = members.iter().map(|member| member.application());
    let merges = members.iter().any(|member| member.is_merged);
    let (result, done) = match merges {
        true => (
            quote!(-> ::core::result::Result<(), crate::api::MergeError>),
            quote!(Ok(())),
        ),
        false => (quote!(), quote!()),
    };
    quote! {
        impl #patch {
            /// Changes the members that the patch has.
            pub fn apply(self, record: &mut #record) #result {
                let Self { #(#names),* } = self;
                #(#applied)*
                #done
            }
        }
    }
}

fn find<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a Attribute> {
    attributes.iter().find(|one| one.path().is_ident(name))
}
