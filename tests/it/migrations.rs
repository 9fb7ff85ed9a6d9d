//! Both databases are brought up to date in the same steps.

use std::collections::BTreeSet;
use std::path::Path;

fn names(database: &str) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(database);
    let files = std::fs::read_dir(folder).unwrap();
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn migrations_have_the_same_numbers_and_names_on_both() {
    let postgres = names("postgres");
    assert_eq!(postgres, names("sqlite"));
    for (place, name) in postgres.iter().enumerate() {
        assert!(name.starts_with(&format!("{:04}_", place + 1)), "{name} is not the next");
    }
}
