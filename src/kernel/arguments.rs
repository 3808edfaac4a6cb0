//! What a launch is given.

use std::ffi::c_void;
use std::fmt;

use bytemuck::Pod;
use smallvec::SmallVec;

use crate::buffer::{Allocation, Buffer};
use crate::seal::OnlyForDacapo;
use crate::sync::Arc;

/// The arguments of a launch, in the order of the kernel's parameters.
///
/// A tuple is one: `(&input, &output, 0.5f32, n)`. For more than sixteen, or a number known at run time only, add them
/// one by one. A `&Buffer<T>` stands for its device address and is kept alive by whatever is recorded with it; any plain
/// value stands for itself.
///
/// # Examples
/// ```
/// use dacapo::Arguments;
///
/// let mut arguments = Arguments::new();
/// for weight in [0.25f32, 0.5, 0.25] {
///     arguments.push(weight);
/// }
/// assert_eq!(arguments.len(), 3);
/// ```
#[derive(Clone, Default)]
pub struct Arguments {
    /// The values one after the other, each from a new word on.
    words: Inline<u64>,
    /// Where in `words` each value begins.
    starts: Inline<usize>,
    /// How many bytes each value has.
    sizes: Inline<usize>,
    allocations: Inline<Arc<Allocation>>,
}

/// Room for the arguments of most kernels without an allocation.
type Inline<T> = SmallVec<[T; 16]>;

impl Arguments {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one more.
    pub fn push(&mut self, argument: impl Argument) {
        argument.append_to(self, OnlyForDacapo::new());
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// How many bytes each has.
    pub(super) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The buffers among them.
    pub(crate) fn allocations(&self) -> &[Arc<Allocation>] {
        &self.allocations
    }

    /// One pointer a value, as `cuLaunchKernel` wants them. Valid until `self` changes.
    pub(crate) fn pointers(&mut self) -> Inline<*mut c_void> {
        let base = self.words.as_mut_ptr();
        self.starts.iter().map(|&start| base.wrapping_add(start).cast()).collect()
    }

    fn append(&mut self, bytes: &[u8]) {
        self.starts.push(self.words.len());
        self.sizes.push(bytes.len());
        self.words.extend(bytes.chunks(size_of::<u64>()).map(|chunk| {
            let mut word = [0; size_of::<u64>()];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_ne_bytes(word)
        }));
    }
}

impl fmt::Debug for Arguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arguments").field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

/// Something that can be a kernel's argument: a plain value, or a reference to a [`Buffer`].
///
/// Sealed: a launch counts on one argument a `push`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel argument",
    label = "not a plain value or a `&Buffer<T>`",
    note = "pass a buffer by reference, and a struct of your own after deriving `bytemuck::Pod` for it"
)]
pub trait Argument {
    /// Adds the argument.
    #[doc(hidden)]
    fn append_to(self, arguments: &mut Arguments, _: OnlyForDacapo);
}

#[diagnostic::do_not_recommend]
impl<T: Pod> Argument for T {
    fn append_to(self, arguments: &mut Arguments, _: OnlyForDacapo) {
        arguments.append(bytemuck::bytes_of(&self));
    }
}

impl<T> Argument for &Buffer<T> {
    fn append_to(self, arguments: &mut Arguments, _: OnlyForDacapo) {
        arguments.append(&self.device_ptr().to_ne_bytes());
        arguments.allocations.push(self.allocation().clone());
    }
}

impl From<()> for Arguments {
    fn from((): ()) -> Self {
        Self::new()
    }
}

macro_rules! arguments_from_tuples {
    ($($first:ident $($rest:ident)*)?) => {$(
        impl<$first: Argument, $($rest: Argument),*> From<($first, $($rest,)*)> for Arguments {
            #[expect(non_snake_case, reason = "a value is named after its type parameter")]
            fn from(($first, $($rest,)*): ($first, $($rest,)*)) -> Self {
                let mut arguments = Self::new();
                arguments.push($first);
                $(arguments.push($rest);)*
                arguments
            }
        }
        arguments_from_tuples!($($rest)*);
    )?};
}

arguments_from_tuples!(A B C D E F G H I J K L M N O P);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_keep_their_bytes_and_order() {
        let mut arguments = Arguments::from((1u8, 0.5f32, [1u64, 2, 3], -1i16));
        assert_eq!(arguments.sizes[..], [1, 4, 24, 2]);
        let pointers = arguments.pointers();
        #[expect(unsafe_code, reason = "reads back what the driver would read")]
        fn value<T: Pod>(pointer: *mut c_void) -> T {
            // SAFETY: a pointer to a value of the type that was pushed, in live storage, from a word on.
            unsafe { pointer.cast::<T>().read() }
        }
        let values = (value(pointers[0]), value(pointers[1]), value(pointers[2]), value(pointers[3]));
        assert_eq!(values, (1u8, 0.5f32, [1u64, 2, 3], -1i16));
    }
}
