//! Routes between nodes: the only path with the fewest links, found in linear time over the whole file.

use proptest::prelude::*;
use scenario::{NoFiles, read};
use std::fmt::Write;

/// All shortest paths from `from` to `to`, by plain enumeration over edges.
fn shortest(nodes: usize, edges: &[(usize, usize)], from: usize, to: usize) -> Vec<Vec<usize>> {
    let mut paths = vec![(from, Vec::new())];
    for _ in 0..nodes {
        let done: Vec<Vec<usize>> = paths.iter().filter(|(n, _)| *n == to).map(|(_, p)| p.clone()).collect();
        if !done.is_empty() {
            return done;
        }
        let mut next = Vec::new();
        for (node, path) in &paths {
            for (i, edge) in edges.iter().enumerate().filter(|(_, e)| e.0 == *node) {
                let revisits = path.iter().any(|&l: &usize| edges[l].0 == edge.1);
                if !revisits {
                    next.push((edge.1, [path.as_slice(), &[i]].concat()));
                }
            }
        }
        paths = next;
    }
    Vec::new()
}

proptest! {
    #[test]
    fn a_route_is_the_only_shortest_path_or_an_error_says_why(
        edges in proptest::collection::vec((0_usize..6, 0_usize..6), 1..12),
        ends in (0_usize..6, 0_usize..6),
    ) {
        let edges: Vec<(usize, usize)> = edges.into_iter().filter(|(a, b)| a != b).collect();
        let (from, to) = ends;
        prop_assume!(from != to && !edges.is_empty());
        let mut text = "williwaw = 1\n".to_owned();
        for node in 0..6 {
            writeln!(text, "[[node]]\nname = \"n{node}\"").unwrap();
        }
        for (i, (a, b)) in edges.iter().enumerate() {
            writeln!(text, "[[link]]\nname = \"l{i}\"\nfrom = \"n{a}\"\nto = \"n{b}\"\ndelay = \"1 ms\"").unwrap();
        }
        writeln!(
            text,
            "[[flow]]\nname = \"f\"\nfrom = \"n{from}\"\nto = \"n{to}\"\napp = {{ bulk = {{ bytes = \"1 kB\" }} }}"
        )
        .unwrap();
        let (there, back) = (shortest(6, &edges, from, to), shortest(6, &edges, to, from));
        match read("routes.toml", text.as_bytes(), &NoFiles) {
            Ok(scenario) => {
                let flow = &scenario.first().flows[0];
                prop_assert_eq!((&[flow.route.clone()][..], &[flow.way_back.clone()][..]), (&there[..], &back[..]));
            }
            Err(diagnostics) => {
                let codes: Vec<&str> = diagnostics.iter().map(|d| d.code).collect();
                for paths in [&there, &back] {
                    if paths.is_empty() {
                        prop_assert!(codes.contains(&"no-route"), "{codes:?}");
                    } else if paths.len() > 1 {
                        prop_assert!(codes.contains(&"ambiguous-route"), "{codes:?}");
                    }
                }
                prop_assert!(there.len() != 1 || back.len() != 1, "{diagnostics}");
            }
        }
    }
}
