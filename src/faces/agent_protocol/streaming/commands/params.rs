//! Reading a command's params, with errors that name the member at fault.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::error::Refusal;
use crate::domain::error::Error;

pub fn read<T: DeserializeOwned>(params: Value) -> Result<T, Refusal> {
    serde_path_to_error::deserialize(params).map_err(|wrong| {
        let path = wrong.path().to_string();
        let at = if path == "." { "params".to_owned() } else { format!("params.{path}") };
        let why = wrong.into_inner();
        Error::invalid(&at, format!("{at} is wrong: {why}")).into()
    })
}
