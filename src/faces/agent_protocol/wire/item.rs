use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::{DEFAULT_LIMIT, rfc3339};
use crate::domain::clock::Ts;
use crate::domain::error::{Error, Result};
use crate::domain::item::{self, Condition, Labels, Test};
use crate::domain::json;
use crate::domain::page::Page;
use crate::http::{FromQuery, Query};

const DEFAULT_NAMESPACE_LIMIT: u32 = 100;

/// A document to be stored.
#[derive(Deserialize, ToSchema)]
pub struct StorePutRequest {
    /// Labels, like the folders above a file.
    pub namespace: Vec<String>,
    pub key: String,
    #[schema(value_type = Object)]
    pub value: Map<String, Value>,
}

/// The document to be deleted.
#[derive(Deserialize, ToSchema)]
pub struct StoreDeleteRequest {
    #[serde(default)]
    #[schema(nullable = false)]
    pub namespace: Option<Vec<String>>,
    pub key: String,
}

/// The document to be read.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ItemQuery {
    pub key: String,
    /// One label each time it occurs.
    #[param(value_type = Option<Vec<String>>, nullable = false, explode = true)]
    pub namespace: Labels,
}

impl FromQuery for ItemQuery {
    fn from_query(query: &Query) -> Result<Self> {
        let missing = || Error::invalid("key", "key is missing");
        Ok(Self {
            key: query.list("key").pop().ok_or_else(missing)?,
            namespace: Labels::new("namespace", query.list("namespace"))?,
        })
    }
}

/// Which documents to list.
#[derive(Default, Deserialize, ToSchema)]
pub struct StoreSearchRequest {
    /// Only what lies below these labels.
    pub namespace_prefix: Option<Vec<String>>,
    /// Conditions on members of the value: `{"member": wanted}`, or operators from `$eq`, `$ne`,
    /// `$gt`, `$gte`, `$lt`, `$lte` and `$in`: `{"member": {"$gte": 1, "$lt": 5}}`. All must hold.
    #[schema(value_type = Option<Object>)]
    pub filter: Option<Map<String, Value>>,
    /// How many at most.
    #[schema(nullable = false, default = 10, minimum = 1, maximum = 1000)]
    pub limit: Option<i64>,
    /// How many to skip.
    #[schema(nullable = false, default = 0, minimum = 0)]
    pub offset: Option<i64>,
}

impl StoreSearchRequest {
    pub fn page(&self) -> Result<Page> {
        Page::new(self.limit, DEFAULT_LIMIT, self.offset)
    }

    pub fn prefix(&self) -> Result<Labels> {
        Labels::new("namespace_prefix", self.namespace_prefix.clone().unwrap_or_default())
    }

    pub fn conditions(&self) -> Result<Vec<Condition>> {
        let Some(filter) = &self.filter else { return Ok(Vec::new()) };
        json::refuse_nul_in("filter", filter)?;
        let mut conditions = Vec::new();
        for (member, wanted) in filter {
            for test in tests(member, wanted)? {
                conditions.push(Condition { member: member.clone(), test });
            }
        }
        Ok(conditions)
    }
}

/// What is asked of one member: operators if there are any, else that it equals `wanted`.
fn tests(member: &str, wanted: &Value) -> Result<Vec<Test>> {
    match wanted.as_object() {
        Some(operators) if operators.keys().any(|key| key.starts_with('$')) => {
            operators.iter().map(|(operator, operand)| test(member, operator, operand)).collect()
        }
        Some(_) | None => Ok(vec![Test::Eq(wanted.clone())]),
    }
}

fn test(member: &str, operator: &str, operand: &Value) -> Result<Test> {
    let operand = operand.clone();
    let field = || format!("filter.{member}.{operator}");
    match (operator, operand) {
        ("$eq", operand) => Ok(Test::Eq(operand)),
        ("$ne", operand) => Ok(Test::Ne(operand)),
        ("$gt", operand) => Ok(Test::Gt(operand)),
        ("$gte", operand) => Ok(Test::Gte(operand)),
        ("$lt", operand) => Ok(Test::Lt(operand)),
        ("$lte", operand) => Ok(Test::Lte(operand)),
        ("$in", Value::Array(operands)) => Ok(Test::In(operands)),
        ("$in", _) => Err(Error::invalid(field(), "$in wants a list")),
        _ => Err(Error::invalid(
            field(),
            format!("there is no operator {operator}: $eq, $ne, $gt, $gte, $lt, $lte and $in are"),
        )),
    }
}

/// Which namespaces to list.
#[derive(Default, Deserialize, ToSchema)]
pub struct StoreListNamespacesRequest {
    /// The labels they begin with; `*` is any one label.
    #[schema(nullable = false)]
    pub prefix: Option<Vec<String>>,
    /// The labels they end with; `*` is any one label.
    #[schema(nullable = false)]
    pub suffix: Option<Vec<String>>,
    /// Deeper ones are cut to this many labels.
    #[schema(nullable = false, minimum = 1)]
    pub max_depth: Option<u32>,
    /// How many at most.
    #[schema(nullable = false, default = 100, minimum = 1, maximum = 1000)]
    pub limit: Option<i64>,
    /// How many to skip.
    #[schema(nullable = false, default = 0, minimum = 0)]
    pub offset: Option<i64>,
}

impl StoreListNamespacesRequest {
    pub fn page(&self) -> Result<Page> {
        Page::new(self.limit, DEFAULT_NAMESPACE_LIMIT, self.offset)
    }

    /// Prefix, suffix and depth.
    pub fn filters(self) -> Result<(Labels, Labels, Option<u32>)> {
        if self.max_depth == Some(0) {
            return Err(Error::invalid("max_depth", "max_depth must be at least 1"));
        }
        let prefix = Labels::new("prefix", self.prefix.unwrap_or_default())?;
        let suffix = Labels::new("suffix", self.suffix.unwrap_or_default())?;
        Ok((prefix, suffix, self.max_depth))
    }
}

/// A document of long-term memory.
#[derive(Serialize, ToSchema)]
pub struct Item {
    pub namespace: Vec<String>,
    pub key: String,
    #[schema(value_type = Object)]
    pub value: Map<String, Value>,
    #[serde(serialize_with = "rfc3339")]
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Ts,
    #[serde(serialize_with = "rfc3339")]
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Ts,
}

impl From<item::Item> for Item {
    fn from(item: item::Item) -> Self {
        Self {
            namespace: item.namespace.0,
            key: item.key,
            value: item.value,
            created_at: item.created_at,
            updated_at: item.updated_at,
        }
    }
}

/// The documents found.
#[derive(Serialize, ToSchema)]
pub struct SearchItemsResponse {
    pub items: Vec<Item>,
}

/// Namespaces, each a list of labels.
#[derive(Serialize, ToSchema)]
pub struct ListNamespaceResponse(pub Vec<Vec<String>>);
