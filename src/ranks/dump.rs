//! Everything that was captured, into a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{RankGraph, Ranks};
use crate::graph::{InspectedPart, Inspection};
use crate::stream::{HasGraph, Stream};

/// Something captured that can be [dumped](dump()): a [`Stream`] or [`Ranks`], instantiated or published.
pub trait Captured {
    /// What there is to be shown, by rank.
    fn inspections(&self) -> Vec<Inspection>;
}

impl<S: HasGraph> Captured for Stream<S> {
    fn inspections(&self) -> Vec<Inspection> {
        vec![self.inspect()]
    }
}

impl<S: RankGraph, const N: usize> Captured for Ranks<S, N> {
    fn inspections(&self) -> Vec<Inspection> {
        (0..N).map(|rank| self.inspect(rank)).collect()
    }
}

/// Writes every segment of every rank of every variant into `folder`, which is created if it is not there: in the DOT language as
/// `variant.rankR.segmentS.dot` and, with the feature `serde`, its census as `….json`. Returns the files, in that order.
///
/// # Errors
/// Of the file system. What has been written by then stays.
///
/// # Examples
/// ```
/// # dacapo_sim::install().unwrap();
/// use dacapo::{Device, Enqueue, Pair, ThreadLocal, dump};
///
/// let mut ranks = Pair::new([Device::open(0)?.stream()?, Device::open(1)?.stream()?])?;
/// let [mut a, mut b] = ranks.eager();
/// let (x, y) = (a.alloc::<u32>(1)?, b.alloc::<u32>(1)?);
/// let ordinary = ranks.capture(ThreadLocal, |[a, b]| {
///     a.fill(&x, 1)?;
///     b.fill(&y, 1)
/// })?.publish()?;
/// # let folder = std::env::temp_dir().join(format!("dacapo-dump-{}", std::process::id()));
/// let written = dump(&folder, &[("ordinary", &ordinary)]).unwrap();
/// assert!(written[0].ends_with("ordinary.rank0.segment0.dot"));
/// # std::fs::remove_dir_all(folder).unwrap();
/// # Ok::<(), dacapo::Error>(())
/// ```
pub fn dump(folder: impl AsRef<Path>, variants: &[(&str, &dyn Captured)]) -> io::Result<Vec<PathBuf>> {
    let folder = folder.as_ref();
    fs::create_dir_all(folder)?;
    let mut written = Vec::new();
    for (variant, captured) in variants {
        for (rank, inspection) in captured.inspections().into_iter().enumerate() {
            let segments = inspection.parts().iter().filter_map(|part| match part {
                InspectedPart::Segment(segment) => Some(segment),
                InspectedPart::Seam => None,
            });
            for (number, segment) in segments.enumerate() {
                let stem = format!("{variant}.rank{rank}.segment{number}");
                let alone = Inspection::new(vec![InspectedPart::Segment(segment.clone())]);
                written.push(folder.join(format!("{stem}.dot")));
                fs::write(&written[written.len() - 1], alone.dot().to_string())?;
                #[cfg(feature = "serde")]
                {
                    written.push(folder.join(format!("{stem}.json")));
                    fs::write(&written[written.len() - 1], serde_json::to_string_pretty(&segment.census)?)?;
                }
            }
        }
    }
    Ok(written)
}
