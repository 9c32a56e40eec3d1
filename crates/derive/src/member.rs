//! One member of a body, and of its patch.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Field, Ident, LitStr, Meta, Result, Token, Type, ext::IdentExt, punctuated::Punctuated};

use super::find;

pub struct Member<'a> {
    pub name: &'a Ident,
    pub is_fixed: bool,
    pub is_merged: bool,
    field: &'a Field,
    /// The type in the patch, inside the `Option` of an absent member.
    of_patch: Type,
    /// The type of the schema, if it is not that of the body.
    schema: Option<Type>,
    doc: Option<LitStr>,
}

impl<'a> Member<'a> {
    pub fn of(field: &'a Field) -> Result<Self> {
        let mut member = Self {
            name: field.ident.as_ref().expect("the members are named"),
            is_fixed: false,
            is_merged: false,
            field,
            of_patch: field.ty.clone(),
            schema: None,
            doc: None,
        };
        let Some(attribute) = find(&field.attrs, "patch") else {
            return Ok(member);
        };
        attribute.parse_nested_meta(|part| {
            match part.path.require_ident()?.to_string().as_str() {
                "fixed" => member.is_fixed = true,
                "merge" => member.is_merged = true,
                "type" => {
                    member.of_patch = part.value()?.parse()?;
                    member.schema = Some(member.of_patch.clone());
                }
                "schema" => member.schema = Some(part.value()?.parse()?),
                "doc" => member.doc = Some(part.value()?.parse()?),
                _ => return Err(part.error("unknown word")),
            }
            Ok(())
        })?;
        Ok(member)
    }

    fn is_nullable(&self) -> bool {
        is_option(&self.of_patch)
    }

    pub fn json_name(&self) -> String {
        self.name.unraw().to_string()
    }

    /// The member of the patch, with its attributes.
    pub fn declaration(&self) -> Result<TokenStream> {
        let Self { name, of_patch, .. } = self;
        let reader = match self.is_nullable() {
            true => "crate::api::patch::nullable",
            false => "crate::api::patch::set",
        };
        let mut limits = limits_of(self.field)?;
        let is_type = |part: &Meta| part.path().is_ident("with");
        limits.retain(|part| self.schema.is_none() || !is_type(part));
        // Without a type, the schema would be that of the `Option`, which has `null`.
        let has_type = self.is_nullable() || limits.iter().any(is_type);
        let written = self.schema.as_ref().or((!has_type).then_some(of_patch));
        if let Some(written) = written.map(|it| quote!(#it).to_string()) {
            limits.insert(0, syn::parse_quote!(with = #written));
        }
        let visibility = &self.field.vis;
        let doc = self.doc.as_ref().map(|text| quote!(#[doc = #text]));
        Ok(quote! {
            #doc
            #[serde(deserialize_with = #reader, skip_serializing_if = "Option::is_none")]
            #[schemars(#(#limits),*)]
            #visibility #name: ::core::option::Option<#of_patch>,
        })
    }

    /// The statement that changes the record.
    pub fn application(&self) -> TokenStream {
        let (name, text) = (self.name, self.json_name());
        let mut value = quote!(value);
        if self.is_merged {
            value = quote!(crate::api::merge(#text, &record.#name, &value)?);
        }
        if self.is_nullable() && !is_option(&self.field.ty) {
            value = quote!(match value {
                Some(value) => #value,
                None => ::core::default::Default::default(),
            });
        }
        quote! {
            if let Some(value) = #name {
                record.#name = #value;
            }
        }
    }
}

fn is_option(given: &Type) -> bool {
    let Type::Path(path) = given else {
        return false;
    };
    let last = path.path.segments.last();
    last.is_some_and(|last| last.ident == "Option")
}

/// The parts of `#[schemars(with = "Type", length(max = 9))]`.
fn limits_of(field: &Field) -> Result<Vec<Meta>> {
    let Some(attribute) = find(&field.attrs, "schemars") else {
        return Ok(Vec::new());
    };
    let parts = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)?;
    Ok(parts.into_iter().collect())
}
