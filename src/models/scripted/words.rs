//! Texts cut into pieces and searched for words.

/// The words of `text`, each with the space after it: they add up to the text exactly.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = String> {
    text.split_inclusive(char::is_whitespace).map(str::to_owned)
}

/// `text` in a few fragments of about the same length.
pub(super) fn fragments(text: &str) -> impl Iterator<Item = String> {
    const LENGTH: usize = 12;
    let signs: Vec<char> = text.chars().collect();
    signs.chunks(LENGTH).map(|chunk| chunk.iter().collect()).collect::<Vec<_>>().into_iter()
}

/// What comes after the first place where `keyword` stands as whole words, in any case.
pub(super) fn after<'a>(text: &'a str, keyword: &str) -> Option<&'a str> {
    find(text, keyword).and_then(|(_, end)| text.get(end..))
}

/// What comes before the first place where `keyword` stands as whole words; all if nowhere.
pub(super) fn before<'a>(text: &'a str, keyword: &str) -> &'a str {
    find(text, keyword).and_then(|(start, _)| text.get(..start)).unwrap_or(text)
}

pub(super) fn has(text: &str, keyword: &str) -> bool {
    find(text, keyword).is_some()
}

/// Where `keyword` first stands as whole words: start and end, in bytes.
fn find(text: &str, keyword: &str) -> Option<(usize, usize)> {
    let is_word =
        |sign: Option<char>| sign.is_some_and(|sign| sign.is_alphanumeric() || sign == '_');
    text.char_indices().find_map(|(start, _)| {
        let rest = text.get(start..)?;
        let end = start + match_length(rest, keyword)?;
        let apart_before = !is_word(text.get(..start)?.chars().next_back());
        let apart_after = !is_word(text.get(end..)?.chars().next());
        (apart_before && apart_after).then_some((start, end))
    })
}

/// How many bytes of `text` its beginning takes that is `keyword` in any case.
fn match_length(text: &str, keyword: &str) -> Option<usize> {
    let mut signs = text.char_indices();
    for want in keyword.chars() {
        let (_, have) = signs.next()?;
        if !have.to_lowercase().eq(want.to_lowercase()) {
            return None;
        }
    }
    Some(signs.next().map_or(text.len(), |(at, _)| at))
}

/// `text` up to the first of these signs.
pub(super) fn up_to<'a>(text: &'a str, signs: &[char]) -> &'a str {
    text.split(signs).next().unwrap_or(text)
}

/// `text` without white space and sentence ends around it.
pub(super) fn bare(text: &str) -> &str {
    text.trim().trim_end_matches(['.', '?', '!', ',']).trim()
}

/// The parts of `text` between `and`s and commas, bare.
pub(super) fn listed(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for part in text.split(',') {
        let mut rest = part;
        while let Some((start, end)) = find(rest, "and") {
            parts.push(rest.get(..start).unwrap_or_default());
            rest = rest.get(end..).unwrap_or_default();
        }
        parts.push(rest);
    }
    parts.into_iter().map(bare).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The first clause: up to the first comma, or the first sentence end before a space or the end;
/// then a full stop. JSON is kept whole.
pub(super) fn first_clause(text: &str) -> String {
    let is_json = serde_json::from_str::<serde_json::Value>(text)
        .is_ok_and(|value| value.is_object() || value.is_array());
    if is_json {
        return text.to_owned();
    }
    let mut signs = text.char_indices().peekable();
    while let Some((at, sign)) = signs.next() {
        let ends = match sign {
            ',' => true,
            '.' | '!' | '?' => signs.peek().is_none_or(|(_, next)| next.is_whitespace()),
            _ => false,
        };
        if ends {
            return format!("{}.", text.get(..at).unwrap_or(text));
        }
    }
    format!("{text}.")
}

/// The first whole number in `text`.
pub(super) fn first_number(text: &str) -> Option<i64> {
    let start = text.find(|sign: char| sign.is_ascii_digit())?;
    let digits = text.get(start..)?;
    let end = digits.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok()
}
