//! Reads a picture of layers: a Mermaid flowchart in which each `subgraph` is a layer, the highest
//! first, and holds the names of its modules, joined by `~~~`.

use std::collections::BTreeMap;

pub struct Picture {
    /// Module and number of its layer; the highest layer is 0.
    layers: Vec<(String, usize)>,
}

impl Picture {
    /// The picture below the heading `## <name>`.
    pub fn parse(document: &str, name: &str) -> Self {
        let heading = format!("## {name}");
        let mut lines = document
            .lines()
            .skip_while(|line| *line != heading)
            .skip_while(|line| *line != "```mermaid")
            .skip(1)
            .take_while(|line| *line != "```")
            .map(str::trim)
            .peekable();
        assert!(
            lines.peek().is_some(),
            "the document has no picture below `{heading}`"
        );
        let (mut layers, mut layer, mut is_inside) = (Vec::new(), 0, false);
        for line in lines {
            match line {
                "end" => (layer, is_inside) = (layer + 1, false),
                _ if line.starts_with("subgraph ") => is_inside = true,
                _ if is_inside && !line.starts_with("direction ") => {
                    let names = line.split("~~~").map(str::trim);
                    let names = names.filter(|name| !name.is_empty());
                    layers.extend(names.map(|name| (name.to_owned(), layer)));
                }
                _ => {}
            }
        }
        Self { layers }
    }

    pub fn modules(&self) -> impl Iterator<Item = &str> {
        self.layers.iter().map(|(name, _)| name.as_str())
    }

    pub fn has(&self, module: &str) -> bool {
        self.modules().any(|name| name == module)
    }

    pub fn repeated(&self) -> Vec<&str> {
        let mut counts = BTreeMap::new();
        for name in self.modules() {
            *counts.entry(name).or_insert(0) += 1;
        }
        let repeated = counts.into_iter().filter(|(_, count)| *count > 1);
        repeated.map(|(name, _)| name).collect()
    }

    /// False if one of the modules is not in the picture.
    pub fn is_below(&self, lower: &str, upper: &str) -> bool {
        let layer = |module: &str| self.layers.iter().find(|(name, _)| name == module);
        match (layer(lower), layer(upper)) {
            (Some((_, lower)), Some((_, upper))) => lower > upper,
            _ => false,
        }
    }
}
