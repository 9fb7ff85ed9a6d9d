//! A list whose entries are found by key, however long it is.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;

/// One entry of a list channel.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    pub key: Option<Arc<str>>,
    pub value: Arc<Value>,
}

/// Entries in order, some under a key. Reads as a slice.
#[derive(Clone, Default, Debug)]
pub struct List {
    entries: Vec<Entry>,
    /// Where keys were last seen, by their hash. Two keys may share a hash: what is found here is
    /// checked, and looked for entry by entry if it is another. Empty while the list is short.
    places: HashMap<u64, usize>,
}

impl List {
    /// Up to this many entries looking at each is as fast.
    const SHORT: usize = 32;

    /// Adds an entry without a key.
    pub(crate) fn push(&mut self, value: Arc<Value>) {
        self.entries.push(Entry { key: None, value });
    }

    /// Replaces the entry with this key where it stands, or adds it at the end.
    pub(crate) fn put(&mut self, key: &Arc<str>, value: Arc<Value>) {
        if self.places.is_empty() && self.entries.len() >= Self::SHORT {
            self.index();
        }
        if let Some(standing) = self.place(key).and_then(|place| self.entries.get_mut(place)) {
            standing.value = value;
            return;
        }
        if self.entries.len() >= Self::SHORT {
            self.places.insert(hash(key), self.entries.len());
        }
        self.entries.push(Entry { key: Some(key.clone()), value });
    }

    /// Removes the entry with this key.
    pub(crate) fn remove(&mut self, key: &str) {
        if let Some(place) = self.place(key) {
            self.entries.remove(place);
            // The places of all that follow have changed.
            self.places.clear();
        }
    }

    /// The entry with this key.
    pub fn find(&self, key: &str) -> Option<&Entry> {
        self.entries.get(self.place(key)?)
    }

    fn place(&self, key: &str) -> Option<usize> {
        let has_key = |entry: &Entry| entry.key.as_deref() == Some(key);
        if !self.places.is_empty() {
            let place = *self.places.get(&hash(key))?;
            if self.entries.get(place).is_some_and(has_key) {
                return Some(place);
            }
        }
        self.entries.iter().rposition(has_key)
    }

    fn index(&mut self) {
        let keys = self.entries.iter().enumerate();
        let keys = keys.filter_map(|(place, entry)| Some((hash(entry.key.as_deref()?), place)));
        self.places = keys.collect();
    }
}

fn hash(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

impl Deref for List {
    type Target = [Entry];

    fn deref(&self) -> &[Entry] {
        &self.entries
    }
}

impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use serde_json::json;

    use super::List;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_long_list_is_what_a_plain_vector_would_be(
            edits in prop::collection::vec((0..90_u32, 0..20_u8), 0..400),
        ) {
            let (mut list, mut plain) = (List::default(), Vec::<(Option<String>, u32)>::new());
            for (ordinal, (name, edit)) in (0..).zip(edits) {
                let key = name.to_string();
                let standing = plain.iter().position(|(known, _)| known.as_ref() == Some(&key));
                match (edit, standing) {
                    (0, _) => {
                        list.push(Arc::new(json!(ordinal)));
                        plain.push((None, ordinal));
                    }
                    (1, place) => {
                        list.remove(&key);
                        place.map(|place| plain.remove(place));
                    }
                    (_, place) => {
                        list.put(&key.as_str().into(), Arc::new(json!(ordinal)));
                        match place {
                            Some(place) => plain[place].1 = ordinal,
                            None => plain.push((Some(key.clone()), ordinal)),
                        }
                    }
                }
                let found = list.find(&key).map(|entry| entry.value.as_u64());
                let known = plain.iter().find(|(known, _)| known.as_ref() == Some(&key));
                prop_assert_eq!(found, known.map(|(_, value)| Some(u64::from(*value))));
            }
            let held: Vec<_> = list.iter().map(|entry| (entry.key.as_deref(), &*entry.value)).collect();
            let plain: Vec<_> =
                plain.iter().map(|(key, value)| (key.as_deref(), json!(value))).collect();
            prop_assert_eq!(held.len(), plain.len());
            for ((key, value), (plain_key, plain_value)) in held.iter().zip(&plain) {
                prop_assert_eq!((key, *value), (plain_key, plain_value));
            }
        }
    }
}
