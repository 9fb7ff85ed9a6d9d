//! A member that takes one thing or a list of them.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::schema::{ArrayBuilder, OneOfBuilder};
use utoipa::openapi::{Ref, Schema};

// Read by hand so that an error names the element at fault.
/// One, or a list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

/// Its schema. That of `T` itself is to be in the document already.
pub(super) fn one_or_many<T: ToSchema>() -> Schema {
    let one = || Ref::from_schema_name(T::name());
    OneOfBuilder::new().item(one()).item(ArrayBuilder::new().items(one())).build().into()
}

impl<T> OneOrMany<T> {
    pub fn into_vec(self) -> Vec<T> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}

impl<T> From<Vec<T>> for OneOrMany<T> {
    /// A list of one is written as that one.
    fn from(mut many: Vec<T>) -> Self {
        match many.pop() {
            Some(one) if many.is_empty() => Self::One(one),
            last => {
                many.extend(last);
                Self::Many(many)
            }
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor(PhantomData))
    }
}

struct OneOrManyVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrManyVisitor<T> {
    type Value = OneOrMany<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one, or a list")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        T::deserialize(StrDeserializer::new(text)).map(OneOrMany::One)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(OneOrMany::One)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut many = Vec::new();
        while let Some(element) = elements.next_element()? {
            many.push(element);
        }
        Ok(OneOrMany::Many(many))
    }
}
