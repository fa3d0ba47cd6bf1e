//! What is said of an environment variable: a row of [`super::TABLE`].

/// Who defines a variable. `docs/environment.md` lists the families in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Defined by the OpenMP specification.
    OpenMp,
    /// libgomp's own, which its users know.
    Gomp,
    /// libomp's own, which its users know.
    Libomp,
    /// Defined by the OpenACC specification, or libgomp's for it.
    OpenAcc,
    /// Defined by the OpenSHMEM specification.
    OpenShmem,
    /// hetmp's own.
    Hetmp,
}

/// The type of a value. Blanks around values are ignored and letters may be of either case, except
/// in [`Kind::Text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer,
    /// Whole numbers separated by commas, one for each nesting level.
    IntegerList,
    /// One of several words.
    Word,
    /// Words separated by commas, one for each nesting level.
    WordList,
    /// A number, which may have a decimal point.
    Number,
    /// A number with a unit.
    Size,
    /// A notation that the help text describes.
    Notation,
    /// Any text, taken as it is.
    Text,
}

impl Kind {
    /// The kind's name in printed tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::IntegerList => "integers",
            Self::Word => "word",
            Self::WordList => "words",
            Self::Number => "number",
            Self::Size => "size",
            Self::Notation => "notation",
            Self::Text => "text",
        }
    }

    /// What is wrong with a value that is none of this kind.
    #[must_use]
    pub(super) const fn wrong(self) -> &'static str {
        match self {
            Self::Boolean => "neither true nor false",
            Self::Integer => "not a whole number in range",
            Self::IntegerList => "not a list of whole numbers in range",
            Self::Word => "unknown",
            Self::WordList => "unknown word in the list",
            Self::Number => "not a number in range",
            Self::Size => "not a size",
            Self::Notation => "not understood",
            Self::Text => "not usable",
        }
    }
}

/// Which longer forms of a name exist (OpenMP 5.1, section 6: "device-specific environment variables").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suffixes {
    /// None.
    None,
    /// `NAME_ALL` (host and devices; the host takes it where `NAME` is unset), `NAME_DEV` and
    /// `NAME_DEV_n` (devices only, so without effect here).
    AllAndDevices,
}

/// One environment variable.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// The name.
    pub name: &'static str,
    /// The type of its value.
    pub kind: Kind,
    /// What applies while the variable is not set; a text for people.
    pub default: &'static str,
    /// The values that are understood; the end of the message about a bad value.
    pub accepts: &'static str,
    /// What the variable does, in a sentence or two.
    pub help: &'static str,
    /// Where it is specified.
    pub spec: &'static str,
    /// Who defines it.
    pub family: Family,
    /// Which longer names exist.
    pub suffixes: Suffixes,
    /// True if libgomp, too, does not read it in set-user-id programs (see [`Self::is_harmless`]).
    not_when_privileged: bool,
}

impl Variable {
    pub(super) const fn new(family: Family, name: &'static str, kind: Kind) -> Self {
        Self {
            name,
            kind,
            default: "",
            accepts: "",
            help: "",
            spec: "",
            family,
            suffixes: Suffixes::None,
            not_when_privileged: false,
        }
    }
    pub(super) const fn default(mut self, text: &'static str) -> Self {
        self.default = text;
        self
    }
    pub(super) const fn accepts(mut self, text: &'static str) -> Self {
        self.accepts = text;
        self
    }
    pub(super) const fn help(mut self, text: &'static str) -> Self {
        self.help = text;
        self
    }
    pub(super) const fn spec(mut self, text: &'static str) -> Self {
        self.spec = text;
        self
    }
    pub(super) const fn with_device_forms(mut self) -> Self {
        self.suffixes = Suffixes::AllAndDevices;
        self
    }
    pub(super) const fn not_when_privileged(mut self) -> Self {
        self.not_when_privileged = true;
        self
    }

    /// Whether a process whose rights are not its caller's (a set-user-id program) may believe its caller's value. True
    /// for the numbers and words of OpenMP and OpenACC, which size and divide the work. False for texts, which may name
    /// a file, library or socket, and for all variables of hetmp and OpenSHMEM: those choose launchers, transports and
    /// processes.
    #[must_use]
    pub fn is_harmless(&self) -> bool {
        !self.not_when_privileged
            && self.kind != Kind::Text
            && !matches!(self.family, Family::Hetmp | Family::OpenShmem)
    }
}
