//! Compares the environment, binding and affinity formats with the system's libgomp. Small C programs run
//! with libgomp, and hetmp's pure functions must give the same results. On a machine without gcc and OpenMP
//! the tests print a line and are skipped.

mod bind;
mod environment;
mod format;

use std::path::PathBuf;
use std::process::{Command, Output};

/// A C program that gcc built for the system's libgomp.
struct Program {
    path: PathBuf,
}

impl Program {
    /// Compiles `source`. `None` if this machine cannot compile it.
    fn compile(name: &str, source: &str) -> Option<Self> {
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let c = dir.join(format!("{name}.c"));
        let path = dir.join(name);
        std::fs::write(&c, source).expect("write the C source");
        let done = Command::new("gcc")
            .args(["-O1", "-fopenmp", "-o"])
            .arg(&path)
            .arg(&c)
            .output();
        match done {
            Ok(out) if out.status.success() => Some(Self { path }),
            Ok(out) => panic!("gcc: {}", String::from_utf8_lossy(&out.stderr)),
            Err(why) => {
                eprintln!("SKIPPED {name}: no gcc ({why})");
                None
            }
        }
    }

    /// Runs the program with exactly these environment variables.
    fn run(&self, args: &[&str], env: &[(String, String)]) -> Output {
        Command::new(&self.path)
            .args(args)
            .env_clear()
            .envs(env.iter().map(|(n, v)| (n, v)))
            .output()
            .expect("run the C program")
    }
}

/// A generator of numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
