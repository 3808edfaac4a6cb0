//! What is told of captures and replays while they happen: spans and events of `tracing` (feature `tracing`), and ranges of NVTX
//! (feature `nvtx`).
//!
//! *Where it sits.* Beside `sync`, below everything that tells. Without the features everything here is empty, and what is told is not
//! even evaluated.
//!
//! Rule: nothing is told while a lock is held, because who listens may call anything, a replay too.

#[cfg(feature = "nvtx")]
mod nvtx;

#[cfg(feature = "nvtx")]
pub(crate) use nvtx::Range;

/// Nothing, for as long as it lives.
#[cfg(not(feature = "nvtx"))]
pub(crate) struct Range;

/// Tells of something: a level, fields, and what it is.
#[cfg(feature = "tracing")]
macro_rules! tell {
    ($level:ident, $($what:tt)+) => { tracing::event!(tracing::Level::$level, $($what)+) };
}

#[cfg(not(feature = "tracing"))]
macro_rules! tell {
    ($level:ident, $($what:tt)+) => {{}};
}

pub(crate) use tell;

/// Something that takes a while: a span with fields, and a range of the same name.
macro_rules! section {
    ($name:literal $(, $($fields:tt)+)?) => {
        $crate::trace::Section {
            span: $crate::trace::Span(
                #[cfg(feature = "tracing")]
                tracing::debug_span!($name $(, $($fields)+)?),
            ),
            _range: $crate::trace::range!($name),
        }
    };
}

pub(crate) use section;

/// A range of this name, until it is dropped.
#[cfg(feature = "nvtx")]
macro_rules! range {
    ($name:literal) => {{
        const NAME: &std::ffi::CStr =
            match std::ffi::CStr::from_bytes_with_nul(concat!("dacapo ", $name, "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => unreachable!(),
            };
        $crate::trace::Range::start(NAME)
    }};
}

#[cfg(not(feature = "nvtx"))]
macro_rules! range {
    ($name:literal) => {
        $crate::trace::Range
    };
}

pub(crate) use range;

/// See [`section!`].
pub(crate) struct Section {
    pub(crate) span: Span,
    pub(crate) _range: Range,
}

#[cfg(not(any(feature = "tracing", feature = "nvtx")))]
const _: () = assert!(size_of::<Section>() == 0, "it costs nothing where nobody is told");

/// A span, which what is told while it is [entered](Self::enter) is part of.
#[derive(Clone)]
pub(crate) struct Span(#[cfg(feature = "tracing")] pub(crate) tracing::Span);

/// Leaves a span when it is dropped.
pub(crate) struct Entered<'a>(
    #[cfg(feature = "tracing")]
    #[expect(dead_code, reason = "held for its destructor")]
    tracing::span::Entered<'a>,
    #[cfg(not(feature = "tracing"))] std::marker::PhantomData<&'a ()>,
);

impl Span {
    /// From here on, on this thread, until the returned value is dropped.
    pub(crate) fn enter(&self) -> Entered<'_> {
        #[cfg(feature = "tracing")]
        return Entered(self.0.enter());
        #[cfg(not(feature = "tracing"))]
        return Entered(std::marker::PhantomData);
    }

    /// What `body` does is part of it.
    pub(crate) fn in_scope<R>(&self, body: impl FnOnce() -> R) -> R {
        let _entered = self.enter();
        body()
    }
}
