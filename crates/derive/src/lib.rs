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
//! members refuse `null`. The limits in `schemars` and a `rename` of `serde` are those of the body.
//! So a member cannot be forgotten: one that is not applied does not compile.
//!
//! A member may say how it differs:
//!
//! - `#[patch(fixed)]`: it never changes, and the patch lacks it.
//! - `#[patch(required)]`: it may be absent from the body, and the patch refuses `null` all the same.
//! - `#[patch(by_service)]`: the patch has it, and the service applies it.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Field, Fields, GenericArgument, Ident, Lit,
    LitStr, Meta, PathArguments, Result, Token, Type,
    parse::{Parse, ParseStream},
    parse_macro_input,
    punctuated::Punctuated,
};

#[proc_macro_derive(Patch, attributes(patch))]
pub fn patch(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let expanded = expand(&input).unwrap_or_else(|error| error.to_compile_error());
    expanded.into()
}

/// `SchedulePatch of Schedule, "A merge patch.", example = …`
struct Head {
    name: Ident,
    record: Type,
    description: LitStr,
    example: Expr,
}

impl Parse for Head {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = input.parse()?;
        let of: Ident = input.parse()?;
        if of != "of" {
            return Err(Error::new(of.span(), "expected `of` and the record"));
        }
        let record = input.parse()?;
        input.parse::<Token![,]>()?;
        let description = input.parse()?;
        input.parse::<Token![,]>()?;
        let word: Ident = input.parse()?;
        if word != "example" {
            return Err(Error::new(word.span(), "expected `example = …`"));
        }
        input.parse::<Token![=]>()?;
        let example = input.parse()?;
        input.parse::<Option<Token![,]>>()?;
        Ok(Self {
            name,
            record,
            description,
            example,
        })
    }
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let head = find(&input.attrs, "patch")
        .ok_or_else(|| Error::new(input.ident.span(), "`#[patch(…)]` is missing"))?;
    let Head {
        name,
        record,
        description,
        example,
    } = head.parse_args()?;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "a body is a struct"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new(input.ident.span(), "a body has named members"));
    };
    let (mut members, mut names, mut applied) = (Vec::new(), Vec::new(), Vec::new());
    for field in &fields.named {
        let rule = Rule::of(field)?;
        if rule == Rule::Fixed {
            continue;
        }
        let member = field.ident.as_ref().expect("the members are named");
        members.push(member_of(field, member, rule)?);
        names.push(match rule {
            Rule::ByService => quote!(#member: _),
            _ => quote!(#member),
        });
        if rule != Rule::ByService {
            applied.push(quote! {
                if let Some(value) = #member {
                    record.#member = value;
                }
            });
        }
    }
    let visibility = &input.vis;
    Ok(quote! {
        #[doc = #description]
        #[derive(Clone, Debug, Default, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        #[schemars(example = #example)]
        #visibility struct #name {
            #(#members)*
        }

        impl #name {
            /// Changes the members that the patch has, except those that need the service.
            #visibility fn apply(self, record: &mut #record) {
                let Self { #(#names),* } = self;
                #(#applied)*
            }
        }
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// As in the body.
    Plain,
    Fixed,
    Required,
    ByService,
}

impl Rule {
    fn of(field: &Field) -> Result<Self> {
        let Some(attribute) = find(&field.attrs, "patch") else {
            return Ok(Self::Plain);
        };
        let word: Ident = attribute.parse_args()?;
        match word.to_string().as_str() {
            "fixed" => Ok(Self::Fixed),
            "required" => Ok(Self::Required),
            "by_service" => Ok(Self::ByService),
            _ => Err(Error::new(
                word.span(),
                "expected `fixed`, `required` or `by_service`",
            )),
        }
    }
}

/// The member of the patch, with its attributes.
fn member_of(field: &Field, name: &Ident, rule: Rule) -> Result<TokenStream> {
    let (given, visibility) = (&field.ty, &field.vis);
    let inner = inner_of_option(given);
    let nullable = inner.is_some() && rule != Rule::Required;
    let kept = inner.filter(|_| rule == Rule::Required).unwrap_or(given);
    let reader = match nullable {
        true => "crate::api::patch::nullable",
        false => "crate::api::patch::set",
    };
    let mut schema = list_of(&field.attrs, "schemars")?;
    if !nullable {
        let written = match schema.iter().position(is_type) {
            Some(position) => text_of(&schema.remove(position))?,
            None => quote!(#kept).to_string(),
        };
        let with = without_option(&written);
        schema.insert(0, syn::parse_quote!(with = #with));
    }
    let mut serde = list_of(&field.attrs, "serde")?;
    serde.retain(|part| part.path().is_ident("rename"));
    Ok(quote! {
        #[serde(deserialize_with = #reader, skip_serializing_if = "Option::is_none" #(, #serde)*)]
        #[schemars(#(#schema),*)]
        #visibility #name: ::core::option::Option<#kept>,
    })
}

/// `with = "Type"`
fn is_type(part: &Meta) -> bool {
    part.path().is_ident("with")
}

fn text_of(part: &Meta) -> Result<String> {
    match &part.require_name_value()?.value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Ok(text.value()),
        other => Err(Error::new_spanned(other, "expected a text")),
    }
}

/// The type in `Option<…>`.
fn without_option(written: &str) -> &str {
    let inner = written.trim().strip_prefix("Option");
    let inner = inner.and_then(|rest| rest.trim().strip_prefix('<')?.strip_suffix('>'));
    inner.unwrap_or(written).trim()
}

fn inner_of_option(given: &Type) -> Option<&Type> {
    let Type::Path(path) = given else {
        return None;
    };
    let last = path.path.segments.last()?;
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) if last.ident == "Option" => {
            match arguments.args.first()? {
                GenericArgument::Type(inner) => Some(inner),
                _ => None,
            }
        }
        _ => None,
    }
}

fn find<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a Attribute> {
    attributes.iter().find(|one| one.path().is_ident(name))
}

/// The parts of an attribute such as `#[serde(default, rename = "type")]`.
fn list_of(attributes: &[Attribute], name: &str) -> Result<Vec<Meta>> {
    let Some(attribute) = find(attributes, name) else {
        return Ok(Vec::new());
    };
    let parts = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
    Ok(parts.into_iter().collect())
}
