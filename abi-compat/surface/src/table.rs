//! The elements of the table: families of routines, and the C functions that follow from them.

use super::types::{Set, Type};

/// The specification that a routine belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Since {
    /// Removed in 1.5, kept for old programs.
    Before,
    /// In 1.5, and in 1.6.
    V15,
    /// Added by 1.6.
    V16,
}

/// The names of a family's routines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// `shmem_TYPENAME_` and this text, for each type.
    Typed(Set, &'static str),
    /// `shmem_`, the first text, a number of bits (8, 16, 32, 64 or 128), and the second text.
    Sized(&'static str, &'static str),
    /// `shmem_`, this text, and 32 or 64: the element sizes of the active-set collectives.
    Old(&'static str),
    /// Exactly this name. Lengths count bytes.
    One(&'static str),
}

/// A family of routines of one shape.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Where the header declares it.
    pub group: &'static str,
    /// The specification.
    pub since: Since,
    /// The routine that replaces it, if it is deprecated.
    pub instead: Option<&'static str>,
    /// Its names.
    pub names: Names,
    /// The C type of the value; `TYPE` is the family's type.
    pub result: &'static str,
    /// The C parameters; `TYPE` is the family's type.
    pub parameters: &'static str,
    /// Whether there is a second form, `shmem_ctx_...`, with a context as the first argument.
    pub context: bool,
    /// The type-generic name, without `shmem_`.
    pub generic: Option<&'static str>,
    /// The file of its entries, and their shape (a macro of that file). `None` if they are written by hand.
    pub entry: Option<(&'static str, &'static str)>,
}

/// One C function.
#[derive(Clone, Debug)]
pub struct Routine {
    /// Its name.
    pub name: String,
    /// The type of its value.
    pub result: String,
    /// Its parameters.
    pub parameters: String,
    /// The routine that replaces it, if it is deprecated.
    pub instead: Option<String>,
}

impl Routine {
    /// The C declaration without the semicolon.
    #[must_use]
    pub fn declaration(&self) -> String {
        let space = if self.result.ends_with('*') { "" } else { " " };
        format!("{}{space}{}({})", self.result, self.name, self.parameters)
    }
}

/// A line of a generated entry table.
#[derive(Clone, Debug)]
pub struct Row {
    /// The type, if the family has types.
    pub of: Option<&'static Type>,
    /// Bytes of an element.
    pub bytes: usize,
    /// The name of the form without a context, then that of the form with one.
    pub names: Vec<String>,
}

impl Family {
    /// The family's rows. The forms with and without a context share a row.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let row = |of: Option<&'static Type>, bytes: usize, rest: String| {
            let mut names = vec![format!("shmem_{rest}")];
            if self.context {
                names.push(format!("shmem_ctx_{rest}"));
            }
            Row { of, bytes, names }
        };
        match self.names {
            Names::Typed(set, what) => set
                .types()
                .map(|t| row(Some(t), t.bytes, format!("{}_{what}", t.name)))
                .collect(),
            Names::Sized(what, end) => [8, 16, 32, 64, 128]
                .into_iter()
                .map(|bits| row(None, bits / 8, format!("{what}{bits}{end}")))
                .collect(),
            Names::Old(what) => [32, 64]
                .into_iter()
                .map(|bits| row(None, bits / 8, format!("{what}{bits}")))
                .collect(),
            Names::One(name) => {
                let mut row = row(None, 1, name.trim_start_matches("shmem_").to_owned());
                name.clone_into(&mut row.names[0]);
                vec![row]
            }
        }
    }

    /// The family's C functions.
    #[must_use]
    pub fn routines(&self) -> Vec<Routine> {
        let mut out = Vec::new();
        for row in self.rows() {
            let c = row.of.map_or("", |t| t.c);
            let typename = row.of.map_or("", |t| t.name);
            for (i, name) in row.names.iter().enumerate() {
                let parameters = self.parameters.replace("TYPE", c);
                out.push(Routine {
                    name: name.clone(),
                    result: self.result.replace("TYPE", c),
                    parameters: match (i, parameters.as_str()) {
                        (0, _) => parameters,
                        (_, "void") => "shmem_ctx_t ctx".to_owned(),
                        _ => format!("shmem_ctx_t ctx, {parameters}"),
                    },
                    instead: self.instead.map(|i| i.replace("TYPENAME", typename)),
                });
            }
        }
        out
    }

    /// The names of its parameters.
    #[must_use]
    pub fn arguments(&self) -> Vec<&'static str> {
        if self.parameters == "void" {
            return Vec::new();
        }
        self.parameters
            .split(',')
            .map(|p| {
                let start = p
                    .rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                    .map_or(0, |at| at + 1);
                &p[start..]
            })
            .collect()
    }

    pub(super) const fn new(group: &'static str, names: Names) -> Self {
        Self {
            group,
            since: Since::V15,
            instead: None,
            names,
            result: "void",
            parameters: "void",
            context: false,
            generic: None,
            entry: None,
        }
    }
    pub(super) const fn of(mut self, result: &'static str, parameters: &'static str) -> Self {
        self.result = result;
        self.parameters = parameters;
        self
    }
    pub(super) const fn since(mut self, since: Since) -> Self {
        self.since = since;
        self
    }
    pub(super) const fn instead(mut self, of: &'static str) -> Self {
        self.instead = Some(of);
        self
    }
    pub(super) const fn with_context(mut self) -> Self {
        self.context = true;
        self
    }
    pub(super) const fn generic(mut self, name: &'static str) -> Self {
        self.generic = Some(name);
        self
    }
    pub(super) const fn entry(mut self, file: &'static str, shape: &'static str) -> Self {
        self.entry = Some((file, shape));
        self
    }
}
