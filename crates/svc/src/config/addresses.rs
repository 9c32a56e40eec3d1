//! The setting with the servers that an agent may link to.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{SeqAccess, Visitor},
};

/// One or more addresses: text separated by commas, or a list. They are not checked here; the agent
/// parses them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Addresses(String);

impl Addresses {
    /// The addresses, separated by commas.
    pub fn into_text(self) -> String {
        self.0
    }
}

impl<'de> Deserialize<'de> for Addresses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrList)
    }
}

struct TextOrList;

impl<'de> Visitor<'de> for TextOrList {
    type Value = Addresses;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address or a list of addresses")
    }

    fn visit_str<E>(self, text: &str) -> Result<Addresses, E> {
        Ok(Addresses(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Addresses, A::Error> {
        let mut addresses = Vec::new();
        while let Some(address) = list.next_element::<String>()? {
            addresses.push(address);
        }
        Ok(Addresses(addresses.join(",")))
    }
}
