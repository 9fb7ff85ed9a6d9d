//! Rust functions as tools: the arguments' type is their schema.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::domain::ports::BoxFuture;
use crate::domain::tool::{Risk, ToolSpec};
use crate::tools::tool::{Call, Failure, Limits, Output, Tool};

/// A tool that is a function of typed arguments.
///
/// ```
/// use runloom::tools::Function;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Sum {
///     a: i64,
///     b: i64,
/// }
///
/// let add = Function::new("add", "Adds two numbers.", |sum: Sum, _call| {
///     Box::pin(async move { Ok((sum.a + sum.b).to_string()) })
/// });
/// ```
pub struct Function<A, F> {
    spec: ToolSpec,
    risk: Risk,
    limits: Limits,
    act: F,
    args: PhantomData<fn(A)>,
}

impl<A, F> Function<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: for<'a> Fn(A, Call<'a>) -> BoxFuture<'a, Result<String, Failure>> + Send + Sync,
{
    pub fn new(name: &str, description: &str, act: F) -> Self {
        let parameters = Value::from(schemars::schema_for!(A));
        let (name, description) = (name.to_owned(), description.to_owned());
        let spec = ToolSpec { name, description, parameters };
        Self { spec, risk: Risk::None, limits: Limits::default(), act, args: PhantomData }
    }

    /// How much harm a call can do.
    #[must_use]
    pub fn risk(mut self, risk: Risk) -> Self {
        self.risk = risk;
        self
    }

    /// What a call may take.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl<A, F> Tool for Function<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: for<'a> Fn(A, Call<'a>) -> BoxFuture<'a, Result<String, Failure>> + Send + Sync,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn risk(&self) -> Risk {
        self.risk
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn call<'a>(&'a self, mut call: Call<'a>) -> BoxFuture<'a, Result<Output, Failure>> {
        let given = Value::Object(std::mem::take(&mut call.args));
        let read = serde_json::from_value::<A>(given);
        Box::pin(async move {
            let args = read.map_err(|wrong| Failure::new(format!("wrong arguments: {wrong}")))?;
            (self.act)(args, call).await.map(Output::from)
        })
    }
}
