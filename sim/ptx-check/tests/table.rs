//! The table of forms is complete and consistent, and all of it runs on the simulator.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod reference;

use std::{collections::HashSet, path::Path, process::Command};

use dacapo_sim_ptx_check::{
    compare::compare,
    driver::Device,
    form::{Bound, Form},
    forms, kernels, operands,
    results::{Outcome, Results},
    run,
};

const SEED: u64 = 20;
const ROWS: u32 = 512;

fn on_the_simulator(forms: &[Form]) -> Vec<Outcome> {
    dacapo_sim::install().unwrap();
    run::forms(&Device::open().unwrap(), forms, SEED, ROWS)
}

#[test]
fn names_are_unique_and_only_approximate_forms_have_a_bound() {
    let forms = forms::all();
    let names: HashSet<&str> = forms.iter().map(|form| form.name.as_str()).collect();
    assert_eq!(names.len(), forms.len());
    for Form { name, operands, bound, .. } in &forms {
        let approximate = name.contains(".approx") || name.contains(".full");
        assert_eq!(*bound != Bound::Exact, approximate, "{name}");
        assert!((1..=4).contains(&operands.len()), "{name}");
    }
}

#[test]
fn every_form_runs_and_those_with_a_plain_meaning_give_what_rust_gives() {
    let forms = forms::all();
    let outcomes = on_the_simulator(&forms);
    assert_eq!(outcomes.len(), forms.len());
    let (mut checked, mut wrong) = (0, Vec::new());
    for (form, outcome) in forms.iter().zip(&outcomes) {
        assert_eq!(outcome.values.as_ref().err(), None, "{}", form.name);
        assert_eq!(outcome.len(), ROWS as usize, "{}", form.name);
        let rows = operands::rows(SEED, form, ROWS as usize);
        let mut known = false;
        for (row, operands) in rows.chunks(form.operands.len()).enumerate() {
            let Some(want) = reference::result(&form.name, operands) else { continue };
            known = true;
            let got = outcome.value(row).unwrap();
            if !want.allows(got) {
                wrong.push(format!("{} of {operands:x?}: {got:#x}, not {want:x?}", form.name));
                break;
            }
        }
        checked += usize::from(known);
    }
    assert!(wrong.is_empty(), "{} forms are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked > 360, "only {checked} forms have a reference");
}

#[test]
fn every_kernel_runs() {
    dacapo_sim::install().unwrap();
    let outcomes = kernels::run(&Device::open().unwrap(), SEED, "");
    assert_eq!(outcomes.len(), kernels::outputs().count());
    for outcome in &outcomes {
        assert_eq!(outcome.values.as_ref().err(), None, "{}", outcome.name);
        let first = outcome.value(0);
        assert!(
            (1..outcome.len()).any(|i| outcome.value(i) != first) || outcome.len() == 1,
            "{} is idle",
            outcome.name
        );
    }
}

#[test]
fn a_wrong_bit_is_found_with_its_operands() {
    let forms: Vec<Form> = forms::all().into_iter().filter(|form| form.name == "add.u32").collect();
    let first = Results { seed: SEED, count: ROWS, device: String::new(), outcomes: on_the_simulator(&forms) };
    let mut second = first.clone();
    assert!(compare(&forms, &first, &second)[0].holds());
    second.outcomes[0].values.as_mut().unwrap()[4 * 70] ^= 2;
    let comparison = compare(&forms, &first, &second).remove(0);
    assert!(!comparison.holds());
    assert_eq!((comparison.different, comparison.examples[0].row), (1, 70));
    let [a, b] = comparison.examples[0].operands[..] else { panic!("not two operands") };
    assert_eq!(comparison.examples[0].results[0], (a + b) & 0xffff_ffff);
    second.outcomes.clear();
    assert!(!compare(&forms, &first, &second)[0].holds());
}

#[test]
fn the_program_runs_compares_and_loads() {
    let program = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_dacapo-sim-ptx-check")).args(arguments).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let folder = std::env::temp_dir().join(format!("dacapo-ptx-check-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (one, two) = (file("one.bin"), file("two.bin"));
    let run = |out: &str, seed: &str| program(&["run", "--sim", "--out", out, "--seed", seed, "--only", "mul."]);
    assert_eq!(run(&one, "3").0, 0);
    assert_eq!(run(&two, "3").0, 0);
    let (code, report) = program(&["compare", &one, &two]);
    assert_eq!(code, 0, "{report}");
    assert!(report.contains(" 0 within their bounds, 0 not"), "{report}");
    let mut results = Results::read(Path::new(&two)).unwrap();
    results.outcomes[1].values.as_mut().unwrap()[0] ^= 1;
    results.write(Path::new(&two)).unwrap();
    assert_eq!(program(&["compare", &one, &two]).0, 1);
    assert_eq!(run(&two, "4").0, 0);
    assert_eq!(program(&["compare", &one, &two]).0, 2);
    let (good, bad) = (file("good.ptx"), file("bad.ptx"));
    std::fs::write(&good, ".version 8.0\n.target sm_90\n.entry k() { ret; }").unwrap();
    std::fs::write(&bad, ".version 8.0\n.target sm_90\n.entry k() {\nfrobnicate.u32;\n}").unwrap();
    assert_eq!(program(&["load", &good]).0, 0);
    let (code, report) = program(&["load", &good, &bad]);
    assert_eq!(code, 1);
    assert!(report.contains("ptx line 4: unsupported instruction `frobnicate`"), "{report}");
    std::fs::remove_dir_all(&folder).unwrap();
}
