//! Finds what someone may have meant.

/// Names that differ by more than this share of their letters are no slip of the finger.
const ALIKE: f64 = 0.6;

/// The known name most like `name`, if one is like it.
pub(super) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let lower = name.to_lowercase();
    known
        .into_iter()
        .map(|known| (strsim::normalized_damerau_levenshtein(&lower, &known.to_lowercase()), known))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, known)| known)
}

/// "did you mean …?" where a name is near enough, else everything that is known.
pub(super) fn advice<'k, N: AsRef<str> + 'k>(
    name: &str,
    known: impl IntoIterator<Item = &'k N>,
) -> String {
    let known: Vec<&str> = known.into_iter().map(AsRef::as_ref).collect();
    match nearest(name, known.iter().copied()) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None if known.is_empty() => "there is none".to_owned(),
        None => format!("known are `{}`", known.join("`, `")),
    }
}
