//! Runs forms on the driver of the process.

use crate::{
    driver::{Argument, Device, DriverError, Module, Shape},
    form::Form,
    operands,
    results::Outcome,
    text::{self, BLOCK, MEMORY},
};

/// Forms in a module: enough that loading is not all there is, few enough that one refused form is found quickly.
const IN_A_MODULE: usize = 48;

/// Runs forms, each on `count` rows of operands; the rows fill whole blocks.
#[must_use]
pub fn forms(device: &Device, forms: &[Form], seed: u64, count: u32) -> Vec<Outcome> {
    forms.chunks(IN_A_MODULE).flat_map(|chunk| some(device, chunk, seed, count)).collect()
}

/// Runs the forms of one module. When the driver refuses it, it is halved until the forms at fault are alone.
fn some(device: &Device, forms: &[Form], seed: u64, count: u32) -> Vec<Outcome> {
    match (device.load(&text::module(forms)), forms) {
        (Ok(module), _) => forms
            .iter()
            .enumerate()
            .map(|(number, form)| outcome(form, one(device, &module, number, form, seed, count)))
            .collect(),
        (Err(error), [form]) => vec![outcome(form, Err(error))],
        (Err(_), _) => {
            let (first, second) = forms.split_at(forms.len() / 2);
            let mut outcomes = some(device, first, seed, count);
            outcomes.extend(some(device, second, seed, count));
            outcomes
        }
    }
}

fn outcome(form: &Form, values: Result<Vec<u8>, DriverError>) -> Outcome {
    let values = values.map_err(|error| error.to_string());
    Outcome { name: form.name.clone(), width: form.result.bytes() as u8, values }
}

fn one(
    device: &Device,
    module: &Module<'_>,
    number: usize,
    form: &Form,
    seed: u64,
    count: u32,
) -> Result<Vec<u8>, DriverError> {
    let rows = count as usize;
    let operands: Vec<u8> = operands::rows(seed, form, rows).into_iter().flat_map(u64::to_le_bytes).collect();
    let operands = device.buffer(&operands)?;
    let results = device.buffer(&vec![0xa5; rows * form.result.bytes()])?;
    let memory = device.buffer(&vec![0; rows * MEMORY])?;
    let shape = Shape { grid: [count / BLOCK, 1, 1], block: [BLOCK, 1, 1], shared: 0 };
    let arguments = [Argument::Buffer(&operands), Argument::Buffer(&results), Argument::Buffer(&memory)];
    // SAFETY:
    // 1. Kernels of forms take three addresses.
    // 2. There is a row of operands, a result and memory for each thread; bodies in the table stay within them.
    unsafe { module.run(&text::kernel_name(number), shape, &arguments) }?;
    results.read()
}
