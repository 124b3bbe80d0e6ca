//! Output formats of a plot (HTML, SVG, PNG, xplot): format by file extension, drawing size, and rendering to
//! a file.

use crate::console::exit::Failure;
use crate::console::streams::Console;
use report::{Chart, Page, Picture, Section};
use std::path::Path;

/// Output format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Html,
    Svg,
    Png,
    Xplot,
}

impl Format {
    /// Format by the file extension.
    pub(super) fn of(path: &Path) -> Result<Format, Failure> {
        let end = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        Ok(match end.as_deref() {
            Some("html" | "htm") => Format::Html,
            Some("svg") => Format::Svg,
            Some("png") => Format::Png,
            Some("xplot" | "xpl") => Format::Xplot,
            _ => {
                return Err(Failure::usage(
                    format!("the extension of `{}` names no picture format", path.display()),
                    "let its name end in .html, .svg, .png or .xplot",
                ));
            }
        })
    }
}

/// Parses width and height, pixels: `900x640`.
pub(super) fn size(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    parts
        .filter(|(w, h)| (320..=10_000).contains(w) && (240..=10_000).contains(h))
        .ok_or_else(|| format!("`{text}` is no size such as 900x640; at least 320x240, at most 10000x10000"))
}

/// A picture to write.
pub(super) enum Drawn {
    Sequence(Box<Picture>),
    Chart(Box<Chart>),
}

impl Drawn {
    pub(super) fn caption(&self) -> String {
        match self {
            Drawn::Sequence(picture) => picture.caption(),
            Drawn::Chart(chart) => chart.caption.clone(),
        }
    }

    fn svg(&self, (width, height): (u32, u32)) -> String {
        match self {
            Drawn::Sequence(picture) => picture.svg(width, height),
            Drawn::Chart(chart) => chart.svg(width, height),
        }
    }

    /// Writes the picture to a file.
    pub(super) fn write(
        &self,
        path: &Path,
        format: Format,
        size: (u32, u32),
        title: &str,
        provenance: &[(String, String)],
        console: &Console,
    ) -> Result<(), Failure> {
        let bytes = match format {
            Format::Svg => self.svg(size).into_bytes(),
            Format::Png => png(&self.svg(size), console)?,
            Format::Xplot => match self {
                Drawn::Sequence(picture) => picture.xplot().into_bytes(),
                Drawn::Chart(_) => {
                    return Err(Failure::usage(
                        "only the time sequence is written for xplot",
                        "leave --kind out, or let the name end in .svg",
                    ));
                }
            },
            Format::Html => {
                let item = match self {
                    Drawn::Sequence(picture) => (**picture).clone().into(),
                    Drawn::Chart(chart) => (**chart).clone().into(),
                };
                let page = Page {
                    title: title.to_owned(),
                    provenance: provenance.to_vec(),
                    sections: vec![Section { items: vec![item], ..Section::default() }],
                };
                page.html().into_bytes()
            }
        };
        crate::output::atomic_write::whole(path, bytes)?;
        console.note(&format!("wrote {}", path.display()));
        Ok(())
    }
}

/// PNG of the drawing at twice its size, so that it stays sharp when enlarged.
#[cfg(feature = "png")]
fn png(svg: &str, console: &Console) -> Result<Vec<u8>, Failure> {
    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::{Options, Tree};
    let wrong =
        |what: String| Failure::machine(format!("cannot draw the picture: {what}"), "write it as .svg");
    let mut options = Options::default();
    options.fontdb_mut().load_system_fonts();
    if options.fontdb.is_empty() {
        console.complaint(
            "warning",
            "this machine has no fonts: the picture has no text; .svg and .html have text",
        );
    }
    // Without the font of the drawing, any sans-serif font is used.
    let face =
        options.fontdb.faces().find(|face| face.families.iter().any(|(name, _)| name.contains("Sans")));
    if let Some(name) = face.and_then(|face| face.families.first()).map(|(name, _)| name.clone()) {
        options.fontdb_mut().set_sans_serif_family(name);
    }
    let tree = Tree::from_str(svg, &options).map_err(|error| wrong(error.to_string()))?;
    let size = tree.size().to_int_size();
    let mut dots = Pixmap::new(size.width() * 2, size.height() * 2)
        .ok_or_else(|| wrong("it is too large".to_owned()))?;
    resvg::render(&tree, Transform::from_scale(2.0, 2.0), &mut dots.as_mut());
    dots.encode_png().map_err(|error| wrong(error.to_string()))
}

#[cfg(not(feature = "png"))]
fn png(_svg: &str, _console: &Console) -> Result<Vec<u8>, Failure> {
    Err(Failure::machine(
        "this williwaw was built without PNG",
        "write it as .svg, or build it with PNG: cargo build --release",
    ))
}
