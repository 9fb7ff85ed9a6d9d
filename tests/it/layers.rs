//! The architecture, tested: which module may import which, read from the `use` lines.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What each module may import of the crate. A module that is not named here may import all.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("engine", &["domain"]),
    ("models", &["domain"]),
    ("tools", &["domain"]),
    ("agents", &["domain", "engine", "models", "tools"]),
    ("executor", &["domain", "engine"]),
    ("storage", &["domain", "engine::port", "executor::port"]),
    ("app", &["domain", "engine", "agents", "executor", "storage"]),
    ("http", &["domain", "app"]),
    ("faces", &["domain", "app", "http"]),
    ("config", &[]),
];

/// Foreign crates that a module must never see.
const NEVER_SEES: &[(&str, &[&str])] = &[
    ("domain", &["tokio", "sqlx", "axum", "reqwest", "futures"]),
    ("engine", &["sqlx", "axum", "reqwest", "chrono"]),
    ("models", &["sqlx", "axum"]),
    ("tools", &["sqlx", "axum"]),
    ("agents", &["sqlx", "axum"]),
    ("executor", &["sqlx", "axum", "reqwest"]),
    ("storage", &["axum", "reqwest"]),
    ("app", &["sqlx", "axum"]),
    ("http", &["sqlx"]),
    ("faces", &["sqlx", "reqwest"]),
];

#[test]
fn modules_import_only_what_lies_below_them() {
    let mut wrong = Vec::new();
    for (file, imported) in imports() {
        let Some((_, allowed)) = MAY_IMPORT.iter().find(|(module, _)| *module == file.module)
        else {
            continue;
        };
        for path in imported.iter().filter_map(|path| path.strip_prefix("crate::")) {
            let within = |prefix: &str| path == prefix || path.starts_with(&format!("{prefix}::"));
            if !within(file.module.as_str()) && !allowed.iter().any(|prefix| within(prefix)) {
                wrong.push(format!("{} imports crate::{path}", file.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_face_never_sees_another_face() {
    let mut wrong = Vec::new();
    for (file, imported) in imports() {
        let Some(face) = &file.face else { continue };
        for path in imported.iter().filter_map(|path| path.strip_prefix("crate::faces::")) {
            if path.split("::").next() != Some(face) {
                wrong.push(format!("{} imports crate::faces::{path}", file.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn modules_stay_away_from_crates_that_are_not_theirs() {
    let mut wrong = Vec::new();
    for (file, imported) in imports() {
        let Some((_, banned)) = NEVER_SEES.iter().find(|(module, _)| *module == file.module) else {
            continue;
        };
        for path in &imported {
            let root = path.split("::").next().unwrap_or_default();
            if banned.contains(&root) {
                wrong.push(format!("{} imports {path}", file.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct File {
    path: PathBuf,
    module: String,
    face: Option<String>,
}

/// The `use` paths of every source file, test modules left out.
fn imports() -> BTreeMap<File, Vec<String>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&source, &mut files);
    assert!(files.len() > 20, "the sources are where this test looks");
    files
        .into_iter()
        .map(|path| {
            let inner = path.strip_prefix(&source).unwrap().to_path_buf();
            let mut parts =
                inner.iter().map(|part| part.to_string_lossy().trim_end_matches(".rs").to_owned());
            let module = parts.next().unwrap();
            let face =
                (module == "faces").then(|| parts.next().unwrap()).filter(|face| face != "mod");
            let text = fs::read_to_string(&path).unwrap();
            (File { path: inner, module, face }, use_paths(&text))
        })
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") && !is_test {
            files.push(path);
        }
    }
}

/// The paths that a file's `use` items name, with groups spread out.
fn use_paths(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut paths = Vec::new();
    for item in code.split(';') {
        let Some(at) = item.rfind("use ") else { continue };
        let before = item[..at].trim_end();
        if before.ends_with(|last: char| last.is_alphanumeric()) && !before.ends_with("pub") {
            continue;
        }
        let tree = item[at + "use ".len()..].split_whitespace().collect::<String>();
        spread("", &tree, &mut paths);
    }
    paths
}

fn spread(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let Some(open) = tree.find('{') else {
        paths.push(format!("{prefix}{tree}"));
        return;
    };
    let prefix = format!("{prefix}{}", &tree[..open]);
    let inner = tree[open + 1..].strip_suffix('}').unwrap_or(&tree[open + 1..]);
    let (mut depth, mut start) = (0, 0);
    for (at, sign) in inner.char_indices() {
        match sign {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                spread(&prefix, &inner[start..at], paths);
                start = at + 1;
            }
            _ => {}
        }
    }
    if start < inner.len() {
        spread(&prefix, &inner[start..], paths);
    }
}
