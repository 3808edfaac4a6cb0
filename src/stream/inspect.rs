//! Looking at what was captured, before and after it is published.

use std::ffi::CString;
use std::path::Path;

use super::Stream;
use super::published::PublishedData;
use super::transition::{HasGraph, sealed};
use crate::driver::DriverDot;
use crate::error::{Error, Misuse};
use crate::graph::{Inspection, Manifest};
use crate::runtime::Captured;
use crate::seal::OnlyForDacapo;
use crate::state::{Instantiated, Published, State};

impl sealed::HasGraph for Instantiated {
    fn captured(captured: &Captured, _: OnlyForDacapo) -> &Captured {
        captured
    }

    fn captured_mut(captured: &mut Captured, _: OnlyForDacapo) -> &mut Captured {
        captured
    }
}

impl sealed::HasGraph for Published {
    fn captured(data: &PublishedData, _: OnlyForDacapo) -> &Captured {
        &data.captured
    }

    fn captured_mut(data: &mut PublishedData, _: OnlyForDacapo) -> &mut Captured {
        &mut data.captured
    }
}

impl<S: State> Stream<S> {
    /// What was captured and what it keeps, to be shown. Makes no driver call.
    #[must_use]
    pub fn inspect(&self) -> Inspection
    where
        S: HasGraph,
    {
        S::captured(&self.data, OnlyForDacapo::new()).inspect()
    }

    /// The nodes of all segments in order, as a manifest: to compare later captures with.
    ///
    /// # Examples
    /// A graph is captured again only if it does the same:
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{CapturePolicy, Device, Enqueue, ThreadLocal};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let (a, b) = (stream.alloc::<u32>(1)?, stream.alloc::<u32>(1)?);
    /// let captured = stream.capture(ThreadLocal, |c| c.copy(&a, &b))?;
    /// let policy = CapturePolicy::new().manifest(captured.manifest());
    ///
    /// let stream = captured.discard()?.with_policy(policy);
    /// let captured = stream.capture(ThreadLocal, |c| c.copy(&b, &a))?;
    /// let rejected = captured.discard()?.capture(ThreadLocal, |c| c.fill(&a, 1)).unwrap_err();
    /// assert_eq!(
    ///     rejected.error().to_string(),
    ///     "node 0 of the captured graph is not what the manifest says: expected memcpy, found memset"
    /// );
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[must_use]
    pub fn manifest(&self) -> Manifest
    where
        S: HasGraph,
    {
        S::captured(&self.data, OnlyForDacapo::new()).census().manifest()
    }

    /// Has the driver write its own picture of a segment (counted from 0), in the DOT language, to a file, which it creates or
    /// overwrites. [`Inspection::dot`] is this crate's own.
    ///
    /// # Errors
    /// [`Misuse::NoSuchSegment`]; [`Misuse::InteriorNul`] for such a path; [`DriverError`](crate::DriverError) if the driver cannot
    /// write the file (`CUDA_ERROR_OPERATING_SYSTEM`).
    ///
    /// # References
    /// [cuGraphDebugDotPrint](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html)
    ///
    /// # Examples
    /// ```
    /// # dacapo_sim::install().unwrap();
    /// use dacapo::{Device, DriverDot, Enqueue, ThreadLocal};
    ///
    /// let mut stream = Device::open(0)?.stream()?;
    /// let x = stream.alloc::<f32>(4)?;
    /// let captured = stream.capture(ThreadLocal, |c| c.fill(&x, 1.0))?;
    /// # let folder = std::env::temp_dir();
    /// captured.write_driver_dot(0, folder.join("graph.dot"), DriverDot::Names)?;
    /// # Ok::<(), dacapo::Error>(())
    /// ```
    #[doc(alias = "cuGraphDebugDotPrint")]
    pub fn write_driver_dot(&self, segment: usize, path: impl AsRef<Path>, detail: DriverDot) -> Result<(), Error>
    where
        S: HasGraph,
    {
        let path = CString::new(path.as_ref().as_os_str().as_encoded_bytes()).map_err(|_| Misuse::InteriorNul)?;
        let segment = S::captured(&self.data, OnlyForDacapo::new()).segment(segment)?;
        Ok(segment.write_driver_dot(&path, detail)?)
    }
}
