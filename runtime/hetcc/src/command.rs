//! The words of a compiler's command line, as far as they say what is compiled, what is linked, and where to.

use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// An option and its argument, if that is a word of its own.
    Option(Vec<String>),
    Source(String),
    Object(String),
    Archive(String),
    /// `-lNAME`.
    Library(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    /// Nothing is compiled into machine code: one compiler's answer is enough.
    Ask,
    Compile,
    Link,
}

#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) mode: Mode,
    pub(crate) words: Vec<Word>,
    pub(crate) output: Option<String>,
    /// The debug information stays in the objects.
    pub(crate) debug: bool,
}

/// Options whose argument is the next word, where it is not a part of the same word.
const WITH_ARGUMENT: &[&str] = &[
    "-x",
    "-I",
    "-D",
    "-U",
    "-L",
    "-J",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-isysroot",
    "-MF",
    "-MT",
    "-MQ",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-T",
    "-u",
    "-z",
    "-e",
    "-A",
    "-aux-info",
    "--param",
    "-wrapper",
];

/// Options that need one instruction set, or a program of another kind, and why.
const REFUSED: &[(&str, &str)] = &[
    (
        "-shared",
        "libraries are not made for two machines (expected objects, archives and programs)",
    ),
    (
        "-static",
        "nothing can be preloaded into such a program (expected a dynamic one)",
    ),
    (
        "-static-pie",
        "nothing can be preloaded into such a program (expected a dynamic one)",
    ),
    ("-r", "objects are not joined (expected an archive)"),
];

impl Command {
    pub(crate) fn parse(arguments: Vec<String>) -> Result<Command, String> {
        let mut command = Command {
            mode: Mode::Link,
            words: Vec::new(),
            output: None,
            debug: false,
        };
        let mut arguments = arguments.into_iter();
        let mut language: Option<String> = None;
        while let Some(word) = arguments.next() {
            let mut next = || {
                arguments
                    .next()
                    .ok_or_else(|| format!("option: '{word}': has no argument (expected one)"))
            };
            if let Some(why) = REFUSED.iter().find(|r| r.0 == word) {
                return Err(format!("option: '{word}': {}", why.1));
            }
            match word.as_str() {
                "-c" => command.mode = command.mode.min(Mode::Compile),
                "-o" => command.output = Some(next()?),
                "-E" | "-S" | "-M" | "-MM" | "-fsyntax-only" | "-###" => command.mode = Mode::Ask,
                "-l" => command.words.push(Word::Library(next()?)),
                _ if word.starts_with("-o") => command.output = Some(word[2..].to_owned()),
                _ if WITH_ARGUMENT.contains(&word.as_str()) => {
                    let argument = next()?;
                    if word == "-x" {
                        language = Some(argument.clone()).filter(|l| l != "none");
                    }
                    command.words.push(Word::Option(vec![word, argument]));
                }
                _ if word.starts_with("-l") => {
                    command.words.push(Word::Library(word[2..].to_owned()))
                }
                _ if word.starts_with('-') && word.len() > 1 => {
                    if word.starts_with("-g") {
                        command.debug = word != "-g0";
                    }
                    command.words.push(Word::Option(vec![word]));
                }
                _ => {
                    let word = file(word, language.is_some())?;
                    command.words.push(word);
                }
            }
        }
        let files = command
            .words
            .iter()
            .any(|w| !matches!(w, Word::Option(_) | Word::Library(_)));
        if !files {
            command.mode = Mode::Ask;
        }
        Ok(command)
    }

    pub(crate) fn sources(&self) -> impl Iterator<Item = &str> {
        self.words.iter().filter_map(|w| match w {
            Word::Source(path) => Some(path.as_str()),
            _ => None,
        })
    }

    /// All options with their arguments, in their order.
    pub(crate) fn options(&self) -> impl Iterator<Item = &[String]> {
        self.words.iter().filter_map(|w| match w {
            Word::Option(words) => Some(words.as_slice()),
            _ => None,
        })
    }
}

fn file(word: String, in_a_language: bool) -> Result<Word, String> {
    if word.starts_with('@') {
        return Err(format!(
            "file: '{word}': files of options are not read (expected the options)"
        ));
    }
    let extension = Path::new(&word)
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default();
    let is_library = extension == "so" || word.contains(".so.");
    Ok(match extension {
        _ if in_a_language => Word::Source(word),
        _ if is_library => {
            return Err(format!(
                "library: '{word}': is for one machine (expected -lNAME of one that both have)"
            ))
        }
        "s" | "S" | "sx" => {
            return Err(format!(
                "source: '{word}': is for one machine (expected C, C++ or Fortran)"
            ))
        }
        "o" | "obj" => Word::Object(word),
        "a" => Word::Archive(word),
        _ if is_source(extension) => Word::Source(word),
        _ => {
            return Err(format!(
                "file: '{word}': is of no known kind (expected a source, object or archive)"
            ))
        }
    })
}

const C: &[&str] = &["c", "i", "cc", "cp", "cxx", "cpp", "CPP", "c++", "C", "ii"];
const FORTRAN: &[&str] = &[
    "f", "for", "ftn", "F", "FOR", "fpp", "FPP", "FTN", "f90", "f95", "f03", "f08", "F90", "F95",
    "F03", "F08",
];

fn is_source(extension: &str) -> bool {
    C.contains(&extension) || FORTRAN.contains(&extension)
}

/// Is this a source in Fortran?
pub(crate) fn is_fortran(path: &str) -> bool {
    let extension = Path::new(path).extension().and_then(|e| e.to_str());
    extension.is_some_and(|e| FORTRAN.contains(&e))
}
