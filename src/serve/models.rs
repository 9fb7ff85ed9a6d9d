//! The models that the settings name.

use std::sync::Arc;

use crate::agents::configured::Reach;
use crate::config::{ModelRef, Settings};
use crate::models::scripted::Scripted;

/// The offline model, by its name in the settings.
const SCRIPTED: &str = "scripted";

/// The model, or why it cannot be asked.
pub(super) fn reach(settings: &Settings, model: &ModelRef) -> Reach {
    if model.provider == SCRIPTED {
        return Ok(Arc::new(Scripted));
    }
    let (provider, name) = (&model.provider, &model.model);
    let place = settings.models.get(provider);
    match place.and_then(|place| place.missing_key()) {
        Some(variable) => Err(format!("{variable} is not set")),
        None => Err(format!("the model {provider}:{name} cannot be reached from this build")),
    }
}
