//! Compares two files of results, form by form.

use crate::{
    form::{Bound, Form, Ty},
    kernels, operands,
    results::{Outcome, Results},
};

/// How the results of one form compare.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The form's name.
    pub name: String,
    /// What may differ.
    pub bound: Bound,
    /// Values that were compared.
    pub values: usize,
    /// Values that are not the same to the bit.
    pub different: usize,
    /// Values that differ by more than the bound.
    pub beyond: usize,
    /// The largest distance in units of the last place, between values that are both numbers.
    pub ulps: u64,
    /// The first values that differ most: those beyond the bound if there are any.
    pub examples: Vec<Example>,
    /// Why nothing could be compared.
    pub missing: Option<String>,
}

/// One row that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// The row.
    pub row: usize,
    /// Its operands.
    pub operands: Vec<u64>,
    /// The results of both runs.
    pub results: [u64; 2],
}

/// Examples that are kept of a form.
const EXAMPLES: usize = 4;

impl Comparison {
    /// Whether the two agree as far as they must.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.beyond == 0 && self.missing.is_none()
    }
}

/// What can be said of a name in a file of results: the type of its values, the bound, and its operands.
struct Known<'a> {
    ty: Ty,
    bound: Bound,
    form: Option<&'a Form>,
}

/// Compares two runs. `forms` is the table.
#[must_use]
pub fn compare(forms: &[Form], first: &Results, second: &Results) -> Vec<Comparison> {
    let outputs: Vec<(String, Ty, Bound)> = kernels::outputs().collect();
    let mut comparisons = Vec::new();
    for outcome in &first.outcomes {
        let form = forms.iter().find(|form| form.name == outcome.name);
        let known = match form {
            Some(form) => Known { ty: form.result, bound: form.bound, form: Some(form) },
            None => match outputs.iter().find(|(name, ..)| *name == outcome.name) {
                Some(&(_, ty, bound)) => Known { ty, bound, form: None },
                None => {
                    comparisons.push(missing(outcome, Bound::Exact, "not in the table".to_owned()));
                    continue;
                }
            },
        };
        let Some(other) = second.outcomes.iter().find(|other| other.name == outcome.name) else {
            comparisons.push(missing(outcome, known.bound, "not in the second file".to_owned()));
            continue;
        };
        comparisons.push(match (&outcome.values, &other.values) {
            (Err(first), Err(second)) => missing(outcome, known.bound, format!("neither runs it: {first} / {second}")),
            (Err(reason), _) => missing(outcome, known.bound, format!("the first does not run it: {reason}")),
            (_, Err(reason)) => missing(outcome, known.bound, format!("the second does not run it: {reason}")),
            (Ok(_), Ok(_)) => values(&known, outcome, other, first.seed, first.count as usize),
        });
    }
    for outcome in second.outcomes.iter().filter(|other| !first.outcomes.iter().any(|one| one.name == other.name)) {
        comparisons.push(missing(outcome, Bound::Exact, "not in the first file".to_owned()));
    }
    comparisons
}

fn missing(outcome: &Outcome, bound: Bound, reason: String) -> Comparison {
    let name = outcome.name.clone();
    Comparison { name, bound, values: 0, different: 0, beyond: 0, ulps: 0, examples: Vec::new(), missing: Some(reason) }
}

fn values(known: &Known<'_>, first: &Outcome, second: &Outcome, seed: u64, count: usize) -> Comparison {
    let operands = known.form.map(|form| (operands::rows(seed, form, count), form.operands.len()));
    let row_of = |row: usize| match &operands {
        Some((all, width)) => all.get(row * width..(row + 1) * width).unwrap_or_default().to_vec(),
        None => Vec::new(),
    };
    let values = first.len().min(second.len());
    let mut comparison = missing(first, known.bound, String::new());
    comparison.values = values;
    comparison.missing = (first.len() != second.len()).then(|| "different numbers of values".to_owned());
    let (mut within, mut beyond) = (Vec::new(), Vec::new());
    for row in 0..values {
        let (Some(a), Some(b)) = (first.value(row), second.value(row)) else { break };
        if a == b {
            continue;
        }
        comparison.different += 1;
        let operands = row_of(row);
        let range = known.form.and_then(|form| Some(number(*operands.first()?, *form.operands.first()?)));
        let fits = fits(a, b, known, range.flatten());
        comparison.beyond += usize::from(!fits);
        if let Some(ulps) = distance(a, b, known.ty) {
            comparison.ulps = comparison.ulps.max(ulps);
        }
        let list = if fits { &mut within } else { &mut beyond };
        if list.len() < EXAMPLES {
            list.push(Example { row, operands, results: [a, b] });
        }
    }
    comparison.examples = if beyond.is_empty() { within } else { beyond };
    comparison
}

/// Whether two different results are as near as the bound asks.
fn fits(a: u64, b: u64, known: &Known<'_>, first_operand: Option<f64>) -> bool {
    let halves = |x: u64| [x & 0xffff, x >> 16];
    let pair = |ty| {
        let known = |ty| Known { ty, bound: known.bound, form: None };
        halves(a).iter().zip(halves(b)).all(|(a, b)| *a == b || fits(*a, b, &known(ty), None))
    };
    match (known.ty, known.bound) {
        (_, Bound::Exact) => return false,
        (Ty::F16x2, _) => return pair(Ty::F16),
        (Ty::Bf16x2, _) => return pair(Ty::Bf16),
        _ => {}
    }
    let (Some(x), Some(y)) = (number(a, known.ty), number(b, known.ty)) else { return false };
    match known.bound {
        Bound::Exact => false,
        _ if x.is_nan() || y.is_nan() => x.is_nan() && y.is_nan(),
        Bound::Ulps(ulps) => distance(a, b, known.ty).is_some_and(|distance| distance <= ulps.into()),
        Bound::Periodic => (x - y).abs() <= Bound::periodic(first_operand.unwrap_or(0.0)),
        Bound::Within { absolute, relative } => {
            // Neighbours are always near enough: a bound may be finer than the format.
            let largest = x.abs().max(y.abs());
            x == y
                || (x - y).abs() <= absolute.max(if largest.is_finite() { relative * largest } else { 0.0 })
                || distance(a, b, known.ty) == Some(1)
        }
    }
}

/// The steps from one value to the other in their format; `None` when one is no number, or they are no floats.
fn distance(a: u64, b: u64, ty: Ty) -> Option<u64> {
    let bits = match ty {
        Ty::F16 | Ty::Bf16 => 16,
        Ty::F32 => 32,
        Ty::F64 => 64,
        _ => return None,
    };
    if number(a, ty)?.is_nan() || number(b, ty)?.is_nan() {
        return None;
    }
    let place = |x: u64| {
        let magnitude = i128::from(x & (u64::MAX >> (65 - bits)));
        if x >> (bits - 1) & 1 == 1 { -magnitude } else { magnitude }
    };
    u64::try_from((place(a) - place(b)).unsigned_abs()).ok()
}

/// The value of a float's bits.
#[must_use]
pub fn number(bits: u64, ty: Ty) -> Option<f64> {
    Some(match ty {
        Ty::F32 => f64::from(f32::from_bits(bits as u32)),
        Ty::F64 => f64::from_bits(bits),
        Ty::Bf16 => f64::from(f32::from_bits((bits as u32) << 16)),
        Ty::F16 => {
            let (sign, exponent, digits) = (bits >> 15 & 1, bits >> 10 & 31, bits & 0x3ff);
            let magnitude = match exponent {
                0 => digits as f64 * (-24.0f64).exp2(),
                31 if digits == 0 => f64::INFINITY,
                31 => f64::NAN,
                _ => (1024 + digits) as f64 * (exponent as f64 - 25.0).exp2(),
            };
            if sign == 1 { -magnitude } else { magnitude }
        }
        _ => return None,
    })
}

/// One line for a form, with its examples below.
impl std::fmt::Display for Comparison {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(reason) = &self.missing {
            return write!(f, "{}: {reason}", self.name);
        }
        write!(f, "{} [{}]: ", self.name, self.bound)?;
        match (self.different, self.beyond) {
            (0, _) => write!(f, "same")?,
            (different, 0) => write!(f, "{different} of {} differ, up to {} ulp", self.values, self.ulps)?,
            (different, beyond) => {
                write!(f, "BEYOND: {beyond} of {different} differences in {}, up to {} ulp", self.values, self.ulps)?;
            }
        }
        for Example { row, operands, results: [first, second] } in &self.examples {
            let operands: Vec<String> = operands.iter().map(|operand| format!("{operand:#x}")).collect();
            write!(f, "\n    row {row}: {} -> {first:#x} / {second:#x}", operands.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits32(bound: Bound, a: f32, b: f32, operand: f64) -> bool {
        let known = Known { ty: Ty::F32, bound, form: None };
        fits(a.to_bits().into(), b.to_bits().into(), &known, Some(operand))
    }

    #[test]
    fn bounds_mean_what_they_say() {
        let next = f32::from_bits(1f32.to_bits() + 2);
        assert!(fits32(Bound::Ulps(2), 1.0, next, 0.0));
        assert!(!fits32(Bound::Ulps(1), 1.0, next, 0.0));
        assert!(!fits32(Bound::Exact, 0.0, -0.0, 0.0));
        assert!(fits32(Bound::Ulps(2), f32::NAN, -f32::NAN, 0.0));
        assert!(!fits32(Bound::Ulps(2), f32::NAN, 1.0, 0.0));
        assert!(fits32(Bound::relative(-11.0), 1024.0, 1024.4, 0.0));
        assert!(!fits32(Bound::relative(-11.0), 1024.0, 1025.0, 0.0));
        assert!(!fits32(Bound::relative(-11.0), 1024.0, f32::INFINITY, 0.0));
        let within = Bound::Within { absolute: 0.1, relative: 0.0 };
        assert!(fits32(within, 0.01, -0.01, 0.0));
        assert!(!fits32(within, 0.5, -0.5, 0.0));
        assert!(!fits32(Bound::Periodic, 0.5, 0.500_01, 6.0));
        assert!(fits32(Bound::Periodic, 0.5, 0.500_01, 7.0));
        assert!(!fits32(Bound::Periodic, 0.5, 0.6, 300.0));
        assert!(fits32(Bound::Periodic, 0.5, -0.5, 320.0));
        let pairs = Known { ty: Ty::F16x2, bound: Bound::Ulps(1), form: None };
        assert!(fits(0x3c00_3c01, 0x3c01_3c01, &pairs, None));
        assert!(!fits(0x3c00_3c01, 0x3c02_3c01, &pairs, None));
    }

    #[test]
    fn halves_have_their_values() {
        for (bits, value) in [(0x3c00, 1.0), (0xc000, -2.0), (0x0001, 5.960_464_477_539_063e-8), (0x7bff, 65504.0)] {
            assert_eq!(number(bits, Ty::F16), Some(value));
        }
        assert_eq!(number(0x3fc0, Ty::Bf16), Some(1.5));
        assert!(number(0x7c01, Ty::F16).unwrap().is_nan());
    }

    #[test]
    fn zeros_of_both_signs_are_no_steps_apart() {
        assert_eq!(distance(0, 0x8000_0000, Ty::F32), Some(0));
        assert_eq!(distance(1, 0x8000_0001, Ty::F32), Some(2));
    }
}
