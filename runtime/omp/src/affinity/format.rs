//! The affinity format (OpenMP 5.1, section 6.14): a text with fields such as `%n` or
//! `%0.5{native_thread_id}`, as libgomp 12 expands it.
//!
//! ```text
//! field := % [ [0]. ] [size] type        size: the least number of characters
//! type  := letter | {long_name}          .: right-justified   0.: filled with zeros
//! ```

use super::CpuSet;

/// The values of the fields, for one thread.
pub struct Fields<'a> {
    /// `%t`, `team_num`: `omp_get_team_num`.
    pub team_num: i32,
    /// `%T`, `num_teams`: `omp_get_num_teams`.
    pub num_teams: i32,
    /// `%L`, `nesting_level`: `omp_get_level`.
    pub level: i32,
    /// `%n`, `thread_num`: `omp_get_thread_num`.
    pub thread_num: i32,
    /// `%N`, `num_threads`: `omp_get_num_threads`.
    pub num_threads: i32,
    /// `%a`, `ancestor_tnum`: the parent's thread number, -1 outside regions.
    pub ancestor_tnum: i32,
    /// `%P`, `process_id`.
    pub process_id: i32,
    /// `%i`, `native_thread_id`.
    pub native_thread_id: NativeId,
    /// `%A`, `thread_affinity`: the CPUs of the thread's place, or of the process without places.
    pub affinity: &'a CpuSet,
    /// `%H`, `host`: called only if the format has this field.
    pub host: &'a dyn Fn() -> Vec<u8>,
    /// The text for fields that do not exist, as in libomp; `None`: a format with such a field is bad.
    pub unknown: Option<&'a str>,
}

/// A thread's number outside of OpenMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NativeId {
    /// The `pthread_t`, shown in hexadecimal as by libgomp.
    Pthread(u64),
    /// The kernel's number, as by libomp.
    Kernel(i32),
}

/// What is wrong with a format: the second half of a message, without prefix. libgomp ends the program with
/// such a message, and so do the callers here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFormat(pub String);

/// The kinds of field.
#[derive(Clone, Copy)]
enum Field {
    TeamNum,
    NumTeams,
    Level,
    ThreadNum,
    NumThreads,
    AncestorTnum,
    Host,
    ProcessId,
    NativeThreadId,
    Affinity,
    /// No known field, where an unknown field is not an error.
    Unknown,
}

const FIELDS: [(u8, &[u8], Field); 10] = [
    (b't', b"team_num", Field::TeamNum),
    (b'T', b"num_teams", Field::NumTeams),
    (b'L', b"nesting_level", Field::Level),
    (b'n', b"thread_num", Field::ThreadNum),
    (b'N', b"num_threads", Field::NumThreads),
    (b'a', b"ancestor_tnum", Field::AncestorTnum),
    (b'H', b"host", Field::Host),
    (b'P', b"process_id", Field::ProcessId),
    (b'i', b"native_thread_id", Field::NativeThreadId),
    (b'A', b"thread_affinity", Field::Affinity),
];

/// How a field is widened to its size.
#[derive(Clone, Copy)]
enum Fill {
    BlanksBehind,
    BlanksBefore,
    Zeros,
}

/// Writes the expanded `format` into `buffer` as far as it fits, without a terminating zero. Returns the
/// length of the whole text.
///
/// # Errors
/// What is wrong with the format.
pub fn expand(format: &[u8], fields: &Fields<'_>, buffer: &mut [u8]) -> Result<usize, BadFormat> {
    let mut out = Out { buffer, length: 0 };
    let mut rest = format;
    while let Some(percent) = rest.iter().position(|&b| b == b'%') {
        out.text(&rest[..percent])?;
        rest = &rest[percent + 1..];
        if let Some(after) = rest.strip_prefix(b"%") {
            out.text(b"%")?;
            rest = after;
            continue;
        }
        let lenient = fields.unknown.is_some();
        let (fill, size) = fill_and_size(&mut rest, lenient)?;
        let field = field(&mut rest, lenient)?;
        out.field(field, fields, fill, size)?;
    }
    out.text(rest)?;
    Ok(out.length)
}

/// The expanded format as one line with a line feed: what `omp_display_affinity` writes.
///
/// # Errors
/// What is wrong with the format.
pub(crate) fn line(format: &[u8], fields: &Fields<'_>) -> Result<Vec<u8>, BadFormat> {
    let mut text = vec![0; 512];
    let mut length = expand(format, fields, &mut text)?;
    if length >= text.len() {
        let more = length.saturating_add(1) - text.len();
        text.try_reserve_exact(more)
            .map_err(|_| BadFormat(format!("no memory for {length} characters")))?;
        text.resize(length + 1, 0);
        // The fields are the same, but the host name may have changed meanwhile.
        length = expand(format, fields, &mut text)?.min(length);
    }
    text.truncate(length);
    text.push(b'\n');
    Ok(text)
}

/// `[[0].][size]` at the front of `rest`.
fn fill_and_size(rest: &mut &[u8], lenient: bool) -> Result<(Fill, usize), BadFormat> {
    let mut fill = Fill::BlanksBehind;
    if let Some(after) = rest.strip_prefix(b"0") {
        if lenient && !after.starts_with(b".") {
            // libomp skips a zero without a dot, and writes the text to the left.
            *rest = after;
            return fill_and_size(rest, lenient);
        }
        if !after.starts_with(b".") {
            return Err(BadFormat("a leading zero needs a dot behind it".to_owned()));
        }
        fill = Fill::Zeros;
        *rest = after;
    }
    if let Some(after) = rest.strip_prefix(b".") {
        if !matches!(fill, Fill::Zeros) {
            fill = Fill::BlanksBefore;
        }
        *rest = after;
    }
    let digits = match rest.first() {
        Some(b'1'..=b'9') => rest.iter().take_while(|b| b.is_ascii_digit()).count(),
        _ => 0,
    };
    if digits == 0 {
        return match fill {
            Fill::BlanksBehind => Ok((fill, 0)),
            _ => Err(BadFormat("a dot needs a size behind it".to_owned())),
        };
    }
    let (number, after) = rest.split_at(digits);
    *rest = after;
    let size = number.iter().try_fold(0usize, |n, d| {
        n.checked_mul(10)?.checked_add((d - b'0').into())
    });
    // A size that does not fit an integer counts as none, as with strtoul's largest value.
    Ok((fill, size.unwrap_or(0)))
}

/// The letter or `{name}` at the front of `rest`.
fn field(rest: &mut &[u8], lenient: bool) -> Result<Field, BadFormat> {
    let [first, after @ ..] = *rest else {
        return Err(BadFormat("a % without a field type at the end".to_owned()));
    };
    if *first != b'{' {
        let known = FIELDS.iter().find(|f| f.0 == *first);
        if lenient && known.is_none() {
            *rest = after;
            return Ok(Field::Unknown);
        }
        let (_, _, field) = known.ok_or_else(|| {
            BadFormat(format!(
                "unknown field type {}",
                hetmp_core::env::text::quoted(&[*first])
            ))
        })?;
        *rest = after;
        return Ok(*field);
    }
    let Some(end) = after.iter().position(|&b| b == b'}') else {
        return Err(BadFormat(format!(
            "long field type {} without closing brace",
            hetmp_core::env::text::quoted(after)
        )));
    };
    let name = &after[..end];
    if lenient && FIELDS.iter().all(|f| f.1 != name) {
        *rest = &after[end + 1..];
        return Ok(Field::Unknown);
    }
    let (_, _, field) = FIELDS.iter().find(|f| f.1 == name).ok_or_else(|| {
        BadFormat(format!(
            "unknown long field type {}",
            hetmp_core::env::text::quoted(name)
        ))
    })?;
    *rest = &after[end + 1..];
    Ok(*field)
}

/// The caller's buffer, and the length of the whole text so far.
struct Out<'a> {
    buffer: &'a mut [u8],
    length: usize,
}

impl Out<'_> {
    fn text(&mut self, text: &[u8]) -> Result<(), BadFormat> {
        if let Some(room) = self.buffer.get_mut(self.length..) {
            let fits = text.len().min(room.len());
            room[..fits].copy_from_slice(&text[..fits]);
        }
        self.advance(text.len())
    }

    fn repeat(&mut self, byte: u8, count: usize) -> Result<(), BadFormat> {
        if let Some(room) = self.buffer.get_mut(self.length..) {
            let fits = count.min(room.len());
            room[..fits].fill(byte);
        }
        self.advance(count)
    }

    fn advance(&mut self, by: usize) -> Result<(), BadFormat> {
        self.length = self
            .length
            .checked_add(by)
            .ok_or_else(|| BadFormat("sizes that add up to more than memory".to_owned()))?;
        Ok(())
    }

    fn field(
        &mut self,
        field: Field,
        from: &Fields<'_>,
        fill: Fill,
        size: usize,
    ) -> Result<(), BadFormat> {
        let number = match field {
            Field::TeamNum => from.team_num.to_string(),
            Field::NumTeams => from.num_teams.to_string(),
            Field::Level => from.level.to_string(),
            Field::ThreadNum => from.thread_num.to_string(),
            Field::NumThreads => from.num_threads.to_string(),
            Field::AncestorTnum => from.ancestor_tnum.to_string(),
            Field::ProcessId => from.process_id.to_string(),
            Field::NativeThreadId => match from.native_thread_id {
                NativeId::Pthread(id) => format!("0x{id:x}"),
                NativeId::Kernel(id) => id.to_string(),
            },
            Field::Unknown => {
                let text = from.unknown.unwrap_or_default();
                return self.filled(b"", text.as_bytes(), fill.of_word(), size);
            }
            // Host and CPUs are words: zeros in front of them would make no sense, and libgomp writes blanks.
            Field::Host => return self.filled(b"", &(from.host)(), fill.of_word(), size),
            Field::Affinity => {
                let cpus = from.affinity.to_string();
                return self.filled(b"", cpus.as_bytes(), fill.of_word(), size);
            }
        };
        // Zeros go behind the sign or the mark of a hexadecimal number, before the digits.
        let mark = ["-", "0x"]
            .into_iter()
            .find(|m| number.starts_with(m))
            .unwrap_or("");
        let digits = &number.as_bytes()[mark.len()..];
        self.filled(mark.as_bytes(), digits, fill, size)
    }

    fn filled(
        &mut self,
        mark: &[u8],
        text: &[u8],
        fill: Fill,
        size: usize,
    ) -> Result<(), BadFormat> {
        let missing = size.saturating_sub(mark.len() + text.len());
        if let Fill::BlanksBefore = fill {
            self.repeat(b' ', missing)?;
        }
        self.text(mark)?;
        if let Fill::Zeros = fill {
            self.repeat(b'0', missing)?;
        }
        self.text(text)?;
        if let Fill::BlanksBehind = fill {
            self.repeat(b' ', missing)?;
        }
        Ok(())
    }
}

impl Fill {
    fn of_word(self) -> Self {
        match self {
            Self::Zeros => Self::BlanksBefore,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn with_fields<T>(run: impl FnOnce(&Fields<'_>) -> T) -> T {
        run(&Fields {
            team_num: 0,
            num_teams: 1,
            level: 2,
            thread_num: 13,
            num_threads: 16,
            ancestor_tnum: -1,
            process_id: 4711,
            native_thread_id: NativeId::Pthread(0x7f00_1234),
            affinity: &[0usize, 1, 2, 5, 7, 8].into_iter().collect(),
            host: &|| b"box".to_vec(),
            unknown: None,
        })
    }

    fn text(format: &str) -> Result<String, BadFormat> {
        let mut text = with_fields(|f| line(format.as_bytes(), f))?;
        assert_eq!(text.pop(), Some(b'\n'));
        Ok(String::from_utf8(text).expect("UTF-8"))
    }

    #[test]
    fn every_field() {
        assert_eq!(
            text("%t %T %L %n %N %a %H %P %i %A %%").as_deref(),
            Ok("0 1 2 13 16 -1 box 4711 0x7f001234 0-2,5,7-8 %")
        );
        assert_eq!(
            text("%{team_num}%{num_teams}%{nesting_level}%{thread_num}%{num_threads}").as_deref(),
            Ok("0121316")
        );
        assert_eq!(
            text("%{ancestor_tnum}|%{host}|%{process_id}|%{native_thread_id}|%{thread_affinity}")
                .as_deref(),
            Ok("-1|box|4711|0x7f001234|0-2,5,7-8")
        );
    }

    #[test]
    fn sizes() {
        for (format, want) in [
            ("[%5n]", "[13   ]"),
            ("[%.5n]", "[   13]"),
            ("[%0.5n]", "[00013]"),
            ("[%0.5a]", "[-0001]"),
            ("[%1n]", "[13]"),
            ("[%0.14i]", "[0x00007f001234]"),
            ("[%.14{native_thread_id}]", "[    0x7f001234]"),
            ("[%5H]", "[box  ]"),
            ("[%0.5H]", "[  box]"),
            ("[%12A]", "[0-2,5,7-8   ]"),
            ("[%.12A]", "[   0-2,5,7-8]"),
            ("[%99999999999999999999n]", "[13]"),
        ] {
            assert_eq!(text(format).as_deref(), Ok(want), "{format}");
        }
        assert_eq!(text("%600n").map(|t| t.len()), Ok(600));
    }

    #[test]
    fn bad_formats() {
        for format in [
            "%", "%x", "%05n", "%.n", "%0.n", "%{host", "%{hosts}", "%5%", "%{}",
        ] {
            assert!(text(format).is_err(), "{format}");
        }
        assert!(text("%18446744073709551614n%5n").is_err());
        assert!(text("%9223372036854775807n").is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(v in proptest::collection::vec(any::<u8>(), 0..48), room in 0usize..64) {
            let mut buffer = vec![0; room];
            let _ = with_fields(|f| expand(&v, f, &mut buffer));
        }

        /// A short buffer gets the beginning of the text; the length does not depend on the buffer.
        #[test]
        fn short_buffers_get_the_beginning(v in "([a-z ]|%(0?\\.[1-9])?[tnNAiPH]){0,8}", room in 0usize..64) {
            let mut long = vec![b'.'; 400];
            let mut short = vec![b'.'; room];
            let whole = with_fields(|f| expand(v.as_bytes(), f, &mut long));
            let part = with_fields(|f| expand(v.as_bytes(), f, &mut short));
            prop_assert_eq!(&whole, &part);
            let fits = whole.expect("a good format").min(room);
            prop_assert_eq!(&short[..fits], &long[..fits]);
        }
    }
}
