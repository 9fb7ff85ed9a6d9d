use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::*;

/// What was written, for all who hold a clone.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn written(format: LogFormat, rust_log: Option<&str>, say: impl FnOnce()) -> String {
    let page = Page::default();
    let writer = page.clone();
    let lines = lines(format, move || writer.clone()).with_filter(filter(rust_log).unwrap());
    tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), say);
    let bytes = page.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_json_line_has_its_fields_at_the_top_and_its_spans_beside_them() {
    let text = written(LogFormat::Json, None, || {
        let _request = tracing::info_span!("request", request.id = "r-1").entered();
        let _run = tracing::info_span!("run", run.id = "u-1").entered();
        tracing::info!(checkpoint.step = 3, "step finished");
    });
    let line: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(line["message"], "step finished");
    assert_eq!(line["level"], "INFO");
    assert_eq!(line["checkpoint.step"], 3);
    assert_eq!(line["spans"][0]["request.id"], "r-1");
    assert_eq!(line["spans"][1]["run.id"], "u-1");
}

#[test]
fn a_pretty_line_is_one_line_without_colours_for_a_file() {
    let text = written(LogFormat::Pretty, None, || tracing::info!(run.id = "u-1", "run claimed"));
    assert_eq!(text.lines().count(), 1);
    assert!(text.contains("run claimed") && text.contains("run.id"), "{text}");
}

#[test]
fn info_is_written_and_debug_is_not_unless_asked_for() {
    let say = || tracing::debug!("detail");
    assert_eq!(written(LogFormat::Json, None, say), "");
    assert!(written(LogFormat::Json, Some("debug"), say).contains("detail"));
}

#[test]
fn a_bad_filter_is_explained() {
    let error = filter(Some("runloom=loud")).unwrap_err();
    assert!(format!("{error:#}").starts_with("RUST_LOG: this is not a filter; give a level"));
}

#[test]
fn durations_are_histograms_with_fixed_edges() {
    let recorder = builder().unwrap().build_recorder();
    let rendered = recorder.handle();
    metrics::with_local_recorder(&recorder, || {
        metrics::histogram!("runloom_step_duration_seconds").record(0.02);
        metrics::counter!("runloom_runs_total", "status" => "success").increment(2);
    });
    let text = Metrics(rendered).render();
    assert!(text.contains("runloom_step_duration_seconds_bucket{le=\"0.025\"} 1"), "{text}");
    assert!(text.contains("runloom_step_duration_seconds_bucket{le=\"0.01\"} 0"), "{text}");
    assert!(text.contains("runloom_runs_total{status=\"success\"} 2"), "{text}");
}
