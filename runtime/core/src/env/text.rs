//! Reading values the way the C library does.
//!
//! For twenty years `strtoul`, `isspace` and `strncasecmp` have decided which values users can write. The
//! cursor here treats blanks, signs, bases and overflow in the same way, on bytes that need not be UTF-8 and
//! slices that need no terminating zero.

/// A position in a value.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

/// The result of reading a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number<T> {
    /// A number that fits.
    Value(T),
    /// No digits; the cursor did not move.
    Missing,
    /// The number does not fit the type.
    Overflow,
}

impl<T> Number<T> {
    /// The value, if there is one.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Value(v) => Some(v),
            Self::Missing | Self::Overflow => None,
        }
    }
}

/// C's `isspace` in the C locale.
fn is_blank(b: u8) -> bool {
    matches!(b, b' ' | b'\t'..=b'\r')
}

impl<'a> Cursor<'a> {
    /// The beginning of `text`.
    #[must_use]
    pub fn new(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// The next byte; the cursor does not move.
    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Is nothing left?
    #[must_use]
    pub fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Steps over blanks.
    pub fn skip_blanks(&mut self) -> &mut Self {
        while let [first, rest @ ..] = self.rest {
            if !is_blank(*first) {
                break;
            }
            self.rest = rest;
        }
        self
    }

    /// Steps over `byte`, if that is next. Returns whether it was.
    pub fn eat(&mut self, byte: u8) -> bool {
        match self.rest {
            [first, rest @ ..] if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Steps over `word` (lower-case ASCII), if that is next in letters of any case. The byte behind it may
    /// be anything.
    pub fn eat_word(&mut self, word: &str) -> bool {
        match self.rest.split_at_checked(word.len()) {
            Some((head, rest)) if head.eq_ignore_ascii_case(word.as_bytes()) => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Are only blanks left?
    pub fn only_blanks_left(&self) -> bool {
        self.rest.iter().all(|&b| is_blank(b))
    }

    /// C's `strtoul(.., base)` for base 10 or 0 (0: decimal, `0x` hexadecimal, `0` octal). Leading blanks and
    /// a sign belong to the number; a negative number wraps, as in C.
    pub fn unsigned(&mut self, base: u32) -> Number<u64> {
        match self.magnitude(base) {
            None => Number::Missing,
            Some((_, None)) => Number::Overflow,
            Some((negative, Some(v))) => Number::Value(if negative { v.wrapping_neg() } else { v }),
        }
    }

    /// C's `strtol(.., 10)`.
    pub fn signed(&mut self) -> Number<i64> {
        match self.magnitude(10) {
            None => Number::Missing,
            Some((_, None)) => Number::Overflow,
            Some((negative, Some(v))) => {
                let value = if negative {
                    0i64.checked_sub_unsigned(v)
                } else {
                    i64::try_from(v).ok()
                };
                value.map_or(Number::Overflow, Number::Value)
            }
        }
    }

    /// Sign and magnitude (inner `None`: too large) of the number at the cursor; `None` without digits.
    fn magnitude(&mut self, base: u32) -> Option<(bool, Option<u64>)> {
        let mut at = *self;
        at.skip_blanks();
        let negative = at.eat(b'-');
        if !negative {
            at.eat(b'+');
        }
        let mut radix = base;
        if base == 0 {
            radix = match at.rest {
                [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit() => {
                    at.rest = &at.rest[2..];
                    16
                }
                [b'0', ..] => 8,
                _ => 10,
            };
        }
        let digit = |at: &Self| at.peek().and_then(|b| char::from(b).to_digit(radix));
        digit(&at)?;
        let mut value = Some(0u64);
        while let Some(d) = digit(&at) {
            value = value
                .and_then(|v| v.checked_mul(u64::from(radix)))
                .and_then(|v| v.checked_add(u64::from(d)));
            at.rest = &at.rest[1..];
        }
        *self = at;
        Some((negative, value))
    }
}

/// `value` as a part of a one-line message: in quotes, with control characters and broken UTF-8 escaped, and
/// shortened if it is long.
pub fn quoted(value: &[u8]) -> String {
    const LONGEST: usize = 120;
    let mut out = String::from("'");
    for chunk in value[..value.len().min(LONGEST)].utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() {
                out.extend(c.escape_default());
            } else {
                out.push(c);
            }
        }
        for b in chunk.invalid() {
            out.push_str(&format!("\\x{b:02x}"));
        }
    }
    if value.len() > LONGEST {
        out.push_str("...");
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::{quoted, Cursor, Number};
    use proptest::prelude::*;

    fn strtoul(text: &[u8], base: u32) -> (Number<u64>, usize) {
        let mut at = Cursor::new(text);
        let n = at.unsigned(base);
        (n, text.len() - at.rest.len())
    }

    #[test]
    fn numbers_as_in_c() {
        use Number::{Missing, Overflow, Value};
        for (text, base, want, used) in [
            (&b"12x"[..], 10, Value(12), 2),
            (b" \t+7 ", 10, Value(7), 4),
            (b"-1", 10, Value(u64::MAX), 2),
            (b"0x1f", 0, Value(31), 4),
            (b"0x", 0, Value(0), 1),
            (b"0xg", 0, Value(0), 1),
            (b"010", 0, Value(8), 3),
            (b"08", 0, Value(0), 1),
            (b"010", 10, Value(10), 3),
            (b"18446744073709551615", 10, Value(u64::MAX), 20),
            (b"18446744073709551616", 10, Overflow, 20),
            (b"  -", 10, Missing, 0),
            (b"+ 1", 10, Missing, 0),
            (b"", 10, Missing, 0),
        ] {
            assert_eq!(strtoul(text, base), (want, used), "{}", quoted(text));
        }
        assert_eq!(
            Cursor::new(b"-9223372036854775808").signed(),
            Value(i64::MIN)
        );
        assert_eq!(Cursor::new(b"9223372036854775808").signed(), Overflow);
    }

    #[test]
    fn messages_stay_on_one_line() {
        assert_eq!(quoted(b"a\nb\xff\xc3\xa9"), "'a\\nb\\xff\u{e9}'");
        assert!(quoted(&[b'x'; 1000]).len() < 200);
    }

    proptest! {
        /// The C library is the reference.
        #[test]
        fn agrees_with_strtoul(text in "[ \t+-]{0,2}(0x|0)?[0-9a-fx]{0,22}[ ,]?", zero in any::<bool>()) {
            let base = if zero { 0 } else { 10 };
            let c = std::ffi::CString::new(text.clone()).expect("no zero byte");
            let mut end = std::ptr::null_mut();
            // SAFETY: both pointers are valid for the call; errno is this thread's own.
            let (value, overflow) = unsafe {
                *libc::__errno_location() = 0;
                let v = libc::strtoul(c.as_ptr(), &mut end, base);
                (v, *libc::__errno_location() == libc::ERANGE)
            };
            let used = end as usize - c.as_ptr() as usize;
            let want = match (used, overflow) {
                (0, _) => Number::Missing,
                (_, true) => Number::Overflow,
                (_, false) => Number::Value(value),
            };
            prop_assert_eq!(strtoul(text.as_bytes(), base as u32), (want, used));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut at = Cursor::new(&bytes);
            at.skip_blanks();
            at.unsigned(0);
            at.signed();
            prop_assert!(!quoted(&bytes).contains('\n'));
        }
    }
}
