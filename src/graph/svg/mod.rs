//! Captured work as a picture, without help from outside.
//!
//! A panel a segment. Its ranks run from top to bottom; where there are more than a page is high, they are folded into bands that stand
//! side by side, as the columns of a newspaper do, and what leads from one into the next goes up between them.

mod layout;

use std::collections::HashMap;
use std::fmt::{self, Write};

use layout::{Layout, Place};

use super::inspection::{detail, title};
use super::{Census, InspectedSegment, Inspection};
use crate::node::Node;

/// Displays captured work as an SVG picture; from [`Inspection::svg`].
///
/// Boxes are kernels, a colour a name; rounded ones are anything else. The number in a box is the node's position in
/// [`Census::in_order`]. Programmatic dependencies are dashed.
#[derive(Clone, Copy, Debug)]
pub struct Svg<'a>(pub(super) &'a Inspection);

/// Sizes, in pixels.
const MARGIN: usize = 24;
const BOX_HEIGHT: usize = 34;
/// From the top of one rank to that of the next.
const RANK_PITCH: usize = 54;
/// Between columns.
const GAP: usize = 18;
/// Between bands, besides what the ways there take.
const GUTTER: usize = 36;
/// From a box to where a way turns into the gutter.
const TURN: usize = 12;
/// Between two ways that run side by side.
const WAY_PITCH: usize = 7;
/// Where an edge passes and no node stands in its column.
const BARE_COLUMN: usize = 14;
/// A character's width, in the two sizes of letters.
const LARGE: f32 = 7.3;
const SMALL: f32 = 6.1;
/// Characters of a name that are shown; the whole name is the box's tooltip.
const NAME_CHARACTERS: usize = 40;
/// Where a line of the legend ends, at the latest.
const LEGEND_WIDTH: usize = 900;
/// A patch of colour in the legend.
const SWATCH: usize = 18;
/// As wide as high, roughly, is what bands are made for.
const WIDTH_TO_HEIGHT: f32 = 1.4;
/// Fewer ranks than this are not worth a band.
const FEWEST_RANKS: usize = 8;
/// More bands than this are not tried.
const MOST_BANDS: usize = 64;

/// Light enough to read black letters on.
const COLOURS: [&str; 10] =
    ["#cfe2ff", "#d8f0d0", "#ffe3c2", "#e8d9f7", "#fff3b8", "#ffd3d6", "#c9eeee", "#e6e0d0", "#dde4ea", "#f5d6ee"];

impl fmt::Display for Svg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut canvas = Canvas::default();
        let several = self.0.parts().len() > 1;
        for (number, part) in self.0.numbered() {
            match part {
                Some(segment) => panel(&mut canvas, several.then_some(number), segment)?,
                None => canvas.heading("seam: a closure, on the thread that replays")?,
            }
        }
        canvas.finish(f)
    }
}

/// What has been drawn so far.
#[derive(Default)]
struct Canvas {
    body: String,
    width: usize,
    /// Where the next panel begins.
    bottom: usize,
}

impl Canvas {
    /// A line of text under everything that is there.
    fn heading(&mut self, text: &str) -> fmt::Result {
        self.bottom += MARGIN;
        let (x, y) = (MARGIN, self.bottom);
        self.width = self.width.max(x + text_width(text, LARGE) + MARGIN);
        writeln!(self.body, "<text class=\"h\" x=\"{x}\" y=\"{y}\">{}</text>", Escaped(text))
    }

    fn finish(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (width, height) = (self.width, self.bottom + MARGIN);
        writeln!(
            f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">"
        )?;
        f.write_str(
            "<style>\n\
             text { font-family: 'DejaVu Sans Mono', Menlo, Consolas, monospace; font-size: 12px; fill: #111 }\n\
             text.h { font-weight: bold }\n\
             text.s { font-size: 10px; fill: #555 }\n\
             rect { stroke: #667; fill: #fff }\n\
             path { stroke: #667; fill: none }\n\
             path.p { stroke-dasharray: 4 3 }\n\
             </style>\n\
             <defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
             <path d=\"M0 0L8 4L0 8z\" style=\"fill:#667;stroke:none\"/></marker></defs>\n",
        )?;
        writeln!(f, "<rect width=\"{width}\" height=\"{height}\" style=\"stroke:none\"/>")?;
        f.write_str(&self.body)?;
        writeln!(f, "</svg>")
    }
}

/// Draws a segment under everything that is there.
fn panel(canvas: &mut Canvas, number: Option<usize>, segment: &InspectedSegment) -> fmt::Result {
    let census = &segment.census;
    let summary = segment.summary();
    let heading = number.map_or_else(|| summary.to_string(), |number| format!("segment {number}: {summary}"));
    canvas.heading(&heading)?;
    let colours = legend(canvas, census)?;
    let layout = Layout::of(census);
    let bands = Bands::fitting(&layout, census);
    let top = canvas.bottom + MARGIN;
    let picture = Picture { bands: &bands, top };
    for (way, edge) in layout.ways.iter().zip(census.edges()) {
        let class = if edge.programmatic { " class=\"p\"" } else { "" };
        writeln!(canvas.body, "<path{class} marker-end=\"url(#a)\" d=\"{}\"/>", picture.way(way))?;
    }
    for (position, (node, place)) in census.in_order().iter().zip(&layout.nodes).enumerate() {
        let (left, y) = picture.corner(*place);
        boxed(&mut canvas.body, position, node, &colours, left, y, bands.column_width(*place))?;
    }
    canvas.width = canvas.width.max(MARGIN + bands.width() + MARGIN);
    canvas.bottom = top + bands.height();
    Ok(())
}

/// Says what colour a kernel has, and how often it is launched. As they first come.
fn legend(canvas: &mut Canvas, census: &Census) -> Result<HashMap<String, &'static str>, fmt::Error> {
    let mut kernels: Vec<(String, usize)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for launch in census.kernels() {
        let place = *places.entry(launch.title().to_owned()).or_insert_with_key(|name| {
            kernels.push((name.clone(), 0));
            kernels.len() - 1
        });
        kernels[place].1 += 1;
    }
    let mut x = LEGEND_WIDTH;
    for ((name, count), colour) in kernels.iter().zip(COLOURS.iter().cycle()) {
        let text = format!("{} ×{count}", shortened(name));
        let width = SWATCH + 8 + text_width(&text, LARGE);
        if x + width > LEGEND_WIDTH {
            x = MARGIN;
            canvas.bottom += 20;
        }
        let y = canvas.bottom;
        let swatch = format!("x=\"{x}\" y=\"{}\" width=\"{SWATCH}\" height=\"12\"", y - 10);
        writeln!(canvas.body, "<rect {swatch} style=\"fill:{colour}\"/>")?;
        writeln!(canvas.body, "<text x=\"{}\" y=\"{y}\">{}</text>", x + SWATCH + 8, Escaped(&text))?;
        canvas.width = canvas.width.max(x + width + MARGIN);
        x += width + 24;
    }
    Ok(kernels.into_iter().map(|(name, _)| name).zip(COLOURS.iter().copied().cycle()).collect())
}

/// Draws a node.
fn boxed(
    body: &mut String,
    position: usize,
    node: &Node,
    colours: &HashMap<String, &'static str>,
    left: usize,
    top: usize,
    width: usize,
) -> fmt::Result {
    let style = match node {
        Node::Kernel(launch) => format!("style=\"fill:{}\"", colours.get(launch.title()).unwrap_or(&"#fff")),
        Node::OfKind(_) => format!("rx=\"{}\"", BOX_HEIGHT / 2),
    };
    let (name, small) = lines(position, node);
    let (middle, tooltip) = (left + width / 2, Escaped(&title(node)).to_string());
    writeln!(body, "<g><title>{tooltip}</title>")?;
    writeln!(body, "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{BOX_HEIGHT}\" {style}/>")?;
    let baseline = top + if small.is_empty() { 21 } else { 15 };
    writeln!(body, "<text x=\"{middle}\" y=\"{baseline}\" text-anchor=\"middle\">{}</text>", Escaped(&name))?;
    if !small.is_empty() {
        let baseline = top + 28;
        writeln!(
            body,
            "<text class=\"s\" x=\"{middle}\" y=\"{baseline}\" text-anchor=\"middle\">{}</text>",
            Escaped(&small)
        )?;
    }
    writeln!(body, "</g>")
}

/// The two lines in a node's box.
fn lines(position: usize, node: &Node) -> (String, String) {
    (format!("{position} {}", shortened(&title(node))), detail(node))
}

/// How a graph's ranks are folded.
struct Bands {
    /// Ranks of a band.
    ranks: usize,
    /// By band: where each column begins, from the left of the graph, and how wide it is.
    columns: Vec<Vec<(usize, usize)>>,
    /// How much the ways that lead on from band to band take, above and below.
    turns: usize,
    height: usize,
}

impl Bands {
    /// The folding that comes nearest to the shape of a page.
    fn fitting(layout: &Layout, census: &Census) -> Self {
        let most = (layout.ranks / FEWEST_RANKS).clamp(1, MOST_BANDS);
        let unlike_a_page = |bands: &Self| {
            let shape = bands.width() as f32 / bands.height() as f32 / WIDTH_TO_HEIGHT;
            shape.max(1.0 / shape)
        };
        let foldings = (1..=most).map(|bands| Self::of(layout, census, layout.ranks.div_ceil(bands).max(1)));
        let best = foldings.min_by(|a, b| unlike_a_page(a).total_cmp(&unlike_a_page(b)));
        best.unwrap_or_else(|| Self::of(layout, census, layout.ranks.max(1)))
    }

    fn of(layout: &Layout, census: &Census, ranks: usize) -> Self {
        let count = layout.ranks.div_ceil(ranks).max(1);
        let mut widths: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut widen = |place: &Place, width: usize| {
            let band = &mut widths[place.rank / ranks];
            band.resize(band.len().max(place.column + 1), BARE_COLUMN);
            band[place.column] = band[place.column].max(width);
        };
        let mut leading_on = vec![0; count];
        for way in &layout.ways {
            for step in way.windows(2) {
                widen(&step[0], BARE_COLUMN);
                let (from, to) = (step[0].rank / ranks, step[1].rank / ranks);
                if from != to {
                    leading_on[from] = leading_on[from].max(step[0].column + 1);
                }
            }
        }
        for (position, (node, place)) in census.in_order().iter().zip(&layout.nodes).enumerate() {
            let (name, small) = lines(position, node);
            widen(place, text_width(&name, LARGE).max(text_width(&small, SMALL)) + 16);
        }
        let mut left = 0;
        let columns = widths.into_iter().zip(&leading_on).map(|(widths, leading_on)| {
            let columns = widths.into_iter().map(|width| {
                left += width + GAP;
                (left - width - GAP, width)
            });
            let columns: Vec<_> = columns.collect();
            left += GUTTER - GAP + leading_on * WAY_PITCH;
            columns
        });
        let columns: Vec<_> = columns.collect();
        let turns = leading_on.iter().max().filter(|most| **most > 0).map_or(0, |most| TURN + most * WAY_PITCH);
        let rows = layout.ranks.min(ranks) * RANK_PITCH;
        Self { ranks, columns, turns, height: (rows + 2 * turns).saturating_sub(RANK_PITCH - BOX_HEIGHT) }
    }

    fn width(&self) -> usize {
        self.columns.last().and_then(|band| band.last()).map_or(0, |(left, width)| left + width)
    }

    fn height(&self) -> usize {
        self.height
    }

    fn column_width(&self, place: Place) -> usize {
        self.columns[place.rank / self.ranks][place.column].1
    }
}

/// A graph's bands at their place on the canvas.
struct Picture<'a> {
    bands: &'a Bands,
    top: usize,
}

impl Picture<'_> {
    /// Where a place's box has its upper left corner.
    fn corner(&self, place: Place) -> (usize, usize) {
        let (band, row) = (place.rank / self.bands.ranks, place.rank % self.bands.ranks);
        let (left, _) = self.bands.columns[band][place.column];
        (MARGIN + left, self.top + self.bands.turns + row * RANK_PITCH)
    }

    /// The line of an edge.
    fn way(&self, way: &[Place]) -> String {
        let mut line = String::new();
        for (from, to) in way.iter().zip(&way[1..]) {
            self.step(&mut line, *from, *to);
        }
        line
    }

    /// From the bottom of one place to the top of one in the next rank.
    fn step(&self, line: &mut String, from: Place, to: Place) {
        let middle = |place: Place| {
            let (left, top) = self.corner(place);
            (left + self.bands.column_width(place) / 2, top)
        };
        let ((x, above), (to_x, to_y)) = (middle(from), middle(to));
        let y = above + BOX_HEIGHT;
        // Through the place that it has come by, if it passes there.
        let start = if line.is_empty() { format!("M{x} {y}") } else { format!("V{y}") };
        let (band, next) = (from.rank / self.bands.ranks, to.rank / self.bands.ranks);
        let go = if band == next {
            let half = (RANK_PITCH - BOX_HEIGHT) / 2;
            if x == to_x {
                format!("V{to_y}")
            } else {
                format!("C{x} {} {to_x} {} {to_x} {to_y}", y + half, to_y - half)
            }
        } else {
            let lane = from.column * WAY_PITCH;
            let left = self.bands.columns[next].first().map_or(0, |(left, _)| *left);
            let (down, up) = (y + TURN + lane, to_y - TURN - lane);
            format!("V{down}H{}V{up}H{to_x}V{to_y}", MARGIN + left - GUTTER / 2 - lane)
        };
        line.push_str(&start);
        line.push_str(&go);
    }
}

fn text_width(text: &str, character: f32) -> usize {
    (text.chars().count() as f32 * character).ceil() as usize
}

/// A name, cut where it is longer than one cares to read.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARACTERS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// Text within an element.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                // Not allowed in XML in any form.
                character if character.is_control() => f.write_char('\u{fffd}')?,
                character => f.write_char(character)?,
            }
        }
        Ok(())
    }
}
