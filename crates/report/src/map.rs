//! Map of a radio network over time as SVG and page data: C/I raster, sites, mobiles, cell changes.
//!
//! The raster is in lattice coordinates, drawn as one path for each class of C/I. The positions at each time
//! are data of the page; a short script moves the mobiles. Without the script the last time is shown.

use crate::palette as ink;
use crate::svg::{Anchor, Svg, n};
use crate::text::{escape, json_for_script};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// A radio network with its mobiles at several times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Map {
    /// Heading.
    pub title: String,
    /// Content of the map.
    pub caption: String,
    /// The two sides of the area as vectors in m.
    pub sides: [[f64; 2]; 2],
    /// Points of the raster along each side.
    pub points: usize,
    /// C/I in dB at each raster point, row by row along the first side.
    pub ground: Vec<f32>,
    /// Serving cell at each raster point.
    pub serving: Vec<u32>,
    /// Positions of sites, m.
    pub sites: Vec<[f64; 2]>,
    /// Boresights of the sectors of a site, degrees from the x axis.
    pub boresights: Vec<f64>,
    /// Positions of the mobiles in time order; every entry has the same number of mobiles.
    pub moments: Vec<Moment>,
    /// Cell changes in time order.
    pub changes: Vec<CellChange>,
}

/// Mobiles at one time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Time, s.
    pub t: f64,
    /// Position (x, y in m) and state of each mobile.
    pub mobiles: Vec<(f64, f64, MobileState)>,
}

/// State of a mobile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum MobileState {
    /// No data to receive.
    #[default]
    Idle,
    /// Receives data at this C/I, dB.
    Active(f32),
    /// Changes the cell.
    Changing,
}

/// A cell change of a mobile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellChange {
    /// Time, s.
    pub t: f64,
    /// Position, m.
    pub at: [f64; 2],
}

/// Upper bounds of the classes of C/I, dB; the last class has none.
const CLASSES: [f32; 7] = [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0];
/// Colours of the classes in even steps of lightness, dark for low C/I.
const COLOURS: [&str; 8] =
    ["#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725"];
/// Time for which a cell change is shown on the map, s.
const STAYS: f64 = 5.0;
/// Size of the area's larger side, pixels.
const SIZE: f64 = 860.0;
const MARGIN: f64 = 20.0;
const LEGEND: f64 = 76.0;

fn class(ci: f32) -> usize {
    CLASSES.iter().position(|top| ci < *top).unwrap_or(CLASSES.len())
}

impl MobileState {
    /// Letter for the page's script: class of C/I, idle, or changing.
    fn letter(self) -> char {
        match self {
            MobileState::Idle => '-',
            MobileState::Active(ci) => char::from(b'0' + class(ci) as u8),
            MobileState::Changing => 'x',
        }
    }

    fn style(self) -> String {
        match self {
            MobileState::Idle => format!("fill=\"#fff\" stroke=\"{}\"", ink::SOFT),
            MobileState::Active(ci) => format!("fill=\"{}\" stroke=\"#000\"", COLOURS[class(ci)]),
            MobileState::Changing => format!("fill=\"{}\" stroke=\"#000\"", ink::UNNEEDED),
        }
    }
}

impl Map {
    /// Lowest corner of the area in m, and pixels per metre.
    fn frame(&self) -> ([f64; 2], f64, [f64; 2]) {
        let [a, b] = self.sides;
        let corners = [[0.0, 0.0], a, b, [a[0] + b[0], a[1] + b[1]]];
        let least = [0, 1].map(|k| corners.iter().map(|c| c[k]).fold(f64::INFINITY, f64::min));
        let most = [0, 1].map(|k| corners.iter().map(|c| c[k]).fold(f64::NEG_INFINITY, f64::max));
        let extent = [0, 1].map(|k| (most[k] - least[k]).max(1.0));
        let scale = SIZE / extent[0].max(extent[1]);
        (least, scale, extent.map(|e| e * scale))
    }

    /// Pixel of a position in m; north is up.
    fn pixel(&self, x: f64, y: f64) -> (f64, f64) {
        let (least, scale, extent) = self.frame();
        (MARGIN + (x - least[0]) * scale, MARGIN + extent[1] - (y - least[1]) * scale)
    }

    /// The map at its last time as a standalone SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        let (_, _, extent) = self.frame();
        let (w, h) = (extent[0] + 2.0 * MARGIN, extent[1] + 2.0 * MARGIN + LEGEND);
        let mut svg = Svg::new(w, h, &self.title, &self.caption);
        svg.rect(0.0, 0.0, w, h, "fill=\"#fff\"");
        self.draw_ground(&mut svg);
        self.draw_sites(&mut svg);
        let last = self.moments.last();
        let t = last.map_or(0.0, |m| m.t);
        svg.group("class=\"changes\"");
        for change in self.changes.iter().filter(|c| c.t <= t && c.t > t - STAYS) {
            let (x, y) = self.pixel(change.at[0], change.at[1]);
            svg.path(
                &ring(x, y, 8.0),
                &format!("fill=\"none\" stroke=\"{}\" stroke-width=\"2\"", ink::UNNEEDED),
            );
        }
        svg.close();
        svg.group("class=\"mobiles\" stroke-width=\"0.8\"");
        for (x, y, state) in last.iter().flat_map(|m| &m.mobiles) {
            let (x, y) = self.pixel(*x, *y);
            svg.path(&ring(x, y, 3.4), &state.style());
        }
        svg.close();
        self.draw_legend(&mut svg, MARGIN + extent[1] + 36.0);
        svg.finish()
    }

    /// Draws the raster as runs of one class, and borders where the serving cell changes.
    fn draw_ground(&self, svg: &mut Svg) {
        let points = self.points;
        if points == 0 || self.ground.len() < points * points {
            return;
        }
        let (_, scale, _) = self.frame();
        let ([a, b], (x, y)) = (self.sides, self.pixel(0.0, 0.0));
        let step = scale / points as f64;
        // From raster points to pixels.
        let matrix =
            [a[0] * step, -a[1] * step, b[0] * step, -b[1] * step].map(|v| format!("{v:.5}")).join(" ");
        svg.group(&format!("transform=\"matrix({matrix} {} {})\"", n(x), n(y)));
        let mut paths = vec![String::new(); COLOURS.len()];
        for (v, row) in self.ground.chunks(points).take(points).enumerate() {
            let mut from = 0;
            for u in 1..=points {
                if u < points && class(row[u]) == class(row[from]) {
                    continue;
                }
                let _ = write!(paths[class(row[from])], "M{from} {v}h{}v1h-{0}z", u - from);
                from = u;
            }
        }
        for (path, colour) in paths.iter().zip(COLOURS) {
            svg.path(path, &format!("fill=\"{colour}\" fill-opacity=\"0.5\" shape-rendering=\"crispEdges\""));
        }
        let mut borders = String::new();
        if self.serving.len() == self.ground.len() {
            let cell = |u: usize, v: usize| self.serving[v * points + u];
            for (u, v) in (0..points).flat_map(|v| (0..points).map(move |u| (u, v))) {
                if u > 0 && cell(u, v) != cell(u - 1, v) {
                    let _ = write!(borders, "M{u} {v}v1");
                }
                if v > 0 && cell(u, v) != cell(u, v - 1) {
                    let _ = write!(borders, "M{u} {v}h1");
                }
            }
        }
        svg.path(
            &borders,
            "fill=\"none\" stroke=\"#000\" stroke-opacity=\"0.35\" stroke-width=\"0.7\" vector-effect=\"non-scaling-stroke\"",
        );
        svg.close();
    }

    /// Draws a triangle for each site, with a ray along each boresight.
    fn draw_sites(&self, svg: &mut Svg) {
        for site in &self.sites {
            let (x, y) = self.pixel(site[0], site[1]);
            for boresight in &self.boresights {
                let (s, c) = boresight.to_radians().sin_cos();
                svg.line((x, y), (x + 15.0 * c, y - 15.0 * s), "stroke=\"#000\" stroke-width=\"1.6\"");
            }
            svg.path(&ring(x, y, 3.0), "fill=\"#000\"");
        }
    }

    fn draw_legend(&self, svg: &mut Svg, y: f64) {
        let style = format!("fill=\"{}\"", ink::INK);
        svg.text((MARGIN, y), Anchor::Start, 12.0, &style, "C/I (dB)");
        for (k, colour) in COLOURS.iter().enumerate() {
            let x = MARGIN + 62.0 + 52.0 * k as f64;
            svg.rect(x, y - 11.0, 52.0, 13.0, &format!("fill=\"{colour}\" fill-opacity=\"0.5\""));
            svg.path(
                &ring(x + 26.0, y - 4.5, 3.4),
                &format!("fill=\"{colour}\" stroke=\"#000\" stroke-width=\"0.8\""),
            );
            if let Some(top) = CLASSES.get(k) {
                svg.text((x + 52.0, y + 15.0), Anchor::Middle, 11.0, &style, &n(f64::from(*top)));
            }
        }
        let y = y + 34.0;
        let signs = [
            (MobileState::Active(12.0), "receives, coloured by its C/I"),
            (MobileState::Idle, "nothing to receive"),
            (MobileState::Changing, "between two cells"),
        ];
        let mut x = MARGIN + 6.0;
        for (state, words) in signs {
            svg.path(&ring(x, y - 4.0, 4.0), &state.style());
            svg.text((x + 10.0, y), Anchor::Start, 12.0, &style, words);
            x += 34.0 + crate::text::width(words, 12.0);
        }
        svg.path(
            &ring(x, y - 4.0, 7.0),
            &format!("fill=\"none\" stroke=\"{}\" stroke-width=\"2\"", ink::UNNEEDED),
        );
        svg.text((x + 13.0, y), Anchor::Start, 12.0, &style, "cell change in the last 5 s");
    }

    /// The map on a page: drawing, data and controls; `number` distinguishes the maps of a page.
    pub(crate) fn html(&self, number: usize, out: &mut String) {
        let id = format!("map-{number}");
        let _ = write!(out, "<figure class=\"bars\" id=\"{id}\"><h3>{}</h3>", escape(&self.title));
        let _ = write!(out, "<p class=\"story\">{}</p>", escape(&self.caption));
        let last = self.moments.len().saturating_sub(1);
        let _ = write!(
            out,
            "<p class=\"tools\"><button type=\"button\" hidden>Play</button>\
             <input type=\"range\" min=\"0\" max=\"{last}\" value=\"{last}\" aria-label=\"time\" hidden \
             style=\"flex:1\"><output>{}</output></p>",
            self.moments.last().map_or(String::new(), |m| format!("{:.1} s", m.t))
        );
        out.push_str(&self.svg());
        let _ = write!(
            out,
            "<script type=\"application/json\">{}</script></figure>",
            json_for_script(&self.data())
        );
    }

    /// Data for the page's script: pixels and letters of states, and cell changes.
    fn data(&self) -> String {
        let tenth = |v: f64| if v.is_finite() { (v * 10.0).round() / 10.0 } else { 0.0 };
        let moments = self.moments.iter().map(|m| {
            let at: Vec<f64> = m
                .mobiles
                .iter()
                .flat_map(|(x, y, _)| {
                    let (x, y) = self.pixel(*x, *y);
                    [tenth(x), tenth(y)]
                })
                .collect();
            let states: String = m.mobiles.iter().map(|(_, _, state)| state.letter()).collect();
            serde_json::json!({"t": tenth(m.t), "at": at, "states": states})
        });
        let changes = self.changes.iter().map(|c| {
            let (x, y) = self.pixel(c.at[0], c.at[1]);
            [tenth(c.t), tenth(x), tenth(y)]
        });
        serde_json::json!({
            "moments": moments.collect::<Vec<_>>(),
            "changes": changes.collect::<Vec<_>>(),
            "colours": COLOURS,
            "changing": ink::UNNEEDED,
            "idle": ink::SOFT,
            "stays": STAYS,
        })
        .to_string()
    }
}

/// Path data of a circle.
fn ring(x: f64, y: f64, r: f64) -> String {
    format!("M{} {}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z", n(x - r), n(y), r = n(r), d = n(2.0 * r))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> Map {
        Map {
            title: "a <network>".to_owned(),
            sides: [[7500.0, 0.0], [3750.0, 6495.0]],
            points: 2,
            ground: vec![-3.0, -2.0, 12.0, 40.0],
            serving: vec![0, 0, 1, 2],
            sites: vec![[0.0, 0.0]],
            boresights: vec![0.0, 120.0, 240.0],
            moments: vec![
                Moment {
                    t: 0.0,
                    mobiles: vec![(0.0, 0.0, MobileState::Idle), (10.0, 10.0, MobileState::Changing)],
                },
                Moment {
                    t: 1.0,
                    mobiles: vec![(100.0, 50.0, MobileState::Active(31.0)), (10.0, 10.0, MobileState::Idle)],
                },
            ],
            changes: vec![CellChange { t: 0.5, at: [10.0, 10.0] }],
            ..Map::default()
        }
    }

    /// EG-25: one path for each class of C/I, a border between cells, the last moment, its data for the program.
    #[test]
    fn eg_25_a_map_shows_ground_cells_and_mobiles() {
        let map = map();
        let svg = map.svg();
        assert!(svg.contains("M0 0h2v1h-2z"), "two points of one class in a run: {svg}");
        assert!(svg.contains("M1 1v1") && svg.contains("M0 1h1"), "borders between the cells");
        assert_eq!(svg.matches("stroke-width=\"2\"").count(), 2, "one change and its legend");
        assert!(svg.contains(COLOURS[7]) && svg.contains("a &lt;network&gt;"));
        let mut page = String::new();
        map.html(1, &mut page);
        let data: serde_json::Value = serde_json::from_str(&map.data()).unwrap();
        assert_eq!(
            (data["moments"][0]["states"].as_str(), data["moments"][1]["states"].as_str()),
            (Some("-x"), Some("7-"))
        );
        assert_eq!(data["moments"][0]["at"].as_array().map(Vec::len), Some(4));
        assert!(page.contains("type=\"range\" min=\"0\" max=\"1\""));
    }

    #[test]
    fn an_empty_map_is_drawn() {
        assert!(Map::default().svg().ends_with("</svg>"));
    }
}
