//! Draws a graph as a Mermaid flowchart: the same graph always gives the same text.

use std::fmt::Write;

use crate::engine::graph::{END, Graph, START};
use crate::engine::node::Spec;

impl Graph {
    /// The graph as a Mermaid flowchart. Edges are solid, what a condition or a command may
    /// choose is dotted, a join is a circle, and a graph inside a node is a box.
    ///
    /// ```
    /// # use runloom::engine::{END, Graph, START};
    /// # let graph = Graph::builder("line").node("a", |_state, _cx| async move { Ok(()) })
    /// #     .edge(START, "a").edge("a", END).build()?;
    /// assert_eq!(graph.mermaid(), "\
    /// flowchart TD
    ///     start([start])
    ///     n0[\"a\"]
    ///     finish([end])
    ///     start --> n0
    ///     n0 --> finish
    /// ");
    /// # Ok::<(), runloom::engine::BuildError>(())
    /// ```
    pub fn mermaid(&self) -> String {
        let mut drawing = Drawing { text: "flowchart TD\n".to_owned(), indent: 1 };
        drawing.graph(self, "");
        drawing.text
    }

    fn declared_spec(&self, name: &str) -> Option<&Spec> {
        self.nodes.get(name).or_else(|| self.families.get(name.strip_suffix('*')?))
    }
}

struct Drawing {
    text: String,
    indent: usize,
}

impl Drawing {
    /// Nodes, then what leads from each to others; `within` begins the ids of a nested graph.
    fn graph(&mut self, graph: &Graph, within: &str) {
        self.line(&format!("{within}start([start])"));
        for (place, name) in graph.declared.iter().enumerate() {
            self.node(graph, within, place, name);
        }
        for place in 0..graph.joins.len() {
            self.line(&format!("{within}j{place}((all))"));
        }
        let ends = graph.declared.iter().any(|name| leads_to_end(graph, name))
            || leads_to_end(graph, START);
        if ends {
            self.line(&format!("{within}finish([end])"));
        }
        self.arrows(graph, within, START);
        for name in &graph.declared {
            self.arrows(graph, within, name);
        }
        for (place, join) in graph.joins.iter().enumerate() {
            self.arrow(&format!("{within}j{place}"), "-->", &id(graph, within, &join.target));
        }
    }

    fn node(&mut self, graph: &Graph, within: &str, place: usize, name: &str) {
        let label = name.replace('"', "#quot;");
        let spec = graph.declared_spec(name);
        match spec.and_then(|spec| spec.graph.as_deref()) {
            None => self.line(&format!("{within}n{place}[\"{label}\"]")),
            Some(below) => {
                self.line(&format!("subgraph {within}n{place}[\"{label}\"]"));
                self.indent += 1;
                self.graph(below, &format!("{within}n{place}_"));
                self.indent -= 1;
                self.line("end");
            }
        }
    }

    /// What leads from the node of this declared name to others.
    fn arrows(&mut self, graph: &Graph, within: &str, name: &str) {
        let from = id(graph, within, name);
        for source in sources(graph, name) {
            for to in graph.edges_from(source) {
                self.arrow(&from, "-->", &id(graph, within, to));
            }
            for branch in graph.branches_from(source) {
                for to in &branch.targets {
                    self.arrow(&from, "-.->", &id(graph, within, to));
                }
            }
            let joins = graph.joins.iter().enumerate();
            for (place, _) in joins.filter(|(_, join)| join.sources.contains(source)) {
                self.arrow(&from, "-->", &format!("{within}j{place}"));
            }
        }
        for to in graph.declared_spec(name).into_iter().flat_map(|spec| &spec.goes_to) {
            self.arrow(&from, "-. command .->", &id(graph, within, to));
        }
        if nothing_follows(graph, name) {
            self.arrow(&from, "-->", &id(graph, within, END));
        }
    }

    fn arrow(&mut self, from: &str, arrow: &str, to: &str) {
        self.line(&format!("{from} {arrow} {to}"));
    }

    fn line(&mut self, line: &str) {
        let width = self.indent * 4;
        // Writing to a String does not fail.
        let _ = writeln!(self.text, "{:width$}{line}", "");
    }
}

/// The names under which a declared node stands in edges: its own, or those of numbered nodes.
fn sources<'a>(graph: &'a Graph, declared: &'a str) -> Vec<&'a str> {
    let Some(family) = declared.strip_suffix('*') else { return vec![declared] };
    let named = graph.edges.keys().chain(graph.branches.keys());
    let named = named.chain(graph.joins.iter().flat_map(|join| &join.sources));
    let mut named: Vec<&str> = named.map(|name| &**name).collect();
    named.retain(|name| graph.family(name) == Some(family));
    named.sort_unstable();
    named.dedup();
    named
}

fn leads_to_end(graph: &Graph, declared: &str) -> bool {
    let sources = sources(graph, declared);
    let mut targets = sources.iter().flat_map(|source| graph.targets_of(source));
    let goes = graph.declared_spec(declared).into_iter().flat_map(|spec| &spec.goes_to);
    targets.any(|to| &*to == END)
        || goes.into_iter().any(|to| &**to == END)
        || nothing_follows(graph, declared)
}

/// Whether the graph ends after this node because it says nothing else.
fn nothing_follows(graph: &Graph, declared: &str) -> bool {
    let goes = graph.declared_spec(declared).is_some_and(|spec| !spec.goes_to.is_empty());
    !goes && sources(graph, declared).iter().all(|source| graph.targets_of(source).is_empty())
}

/// The id of a node in the drawing.
fn id(graph: &Graph, within: &str, name: &str) -> String {
    match name {
        START => format!("{within}start"),
        END => format!("{within}finish"),
        _ => {
            let family = graph.family(name).map(|family| format!("{family}*"));
            let declared = family.as_deref().unwrap_or(name);
            let place = graph.declared.iter().position(|known| &**known == declared);
            place.map_or_else(|| format!("{within}{name}"), |place| format!("{within}n{place}"))
        }
    }
}
