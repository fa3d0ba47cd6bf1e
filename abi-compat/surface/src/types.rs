//! The C types that OpenSHMEM names functions after, and the tables of which family takes which.

/// A type with a `TYPENAME` in the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// The type's word in function names.
    pub name: &'static str,
    /// The type in C.
    pub c: &'static str,
    /// The basic C type that the type is an alias of on LP64 machines. Two aliases of one basic type must
    /// not both appear in a `_Generic` selection, nor in the overloads of a C++ function.
    pub basic: &'static str,
    /// The type in the entries' Rust code.
    pub rust: &'static str,
    /// Its size in bytes.
    pub bytes: usize,
    /// Its name in `collective::Type`.
    pub element: &'static str,
}

const fn t(
    name: &'static str,
    c: &'static str,
    basic: &'static str,
    rust: &'static str,
    bytes: usize,
    element: &'static str,
) -> Type {
    Type {
        name,
        c,
        basic,
        rust,
        bytes,
        element,
    }
}

/// The macro of the header for C's `double _Complex` and C++'s `std::complex<double>`.
pub const COMPLEX_DOUBLE: &str = "HETMP_SHMEM_COMPLEX_DOUBLE_";
/// The macro of the header for C's `float _Complex` and C++'s `std::complex<float>`.
pub const COMPLEX_FLOAT: &str = "HETMP_SHMEM_COMPLEX_FLOAT_";

static ALL: &[Type] = &[
    t("float", "float", "float", "f32", 4, "F32"),
    t("double", "double", "double", "f64", 8, "F64"),
    t(
        "longdouble",
        "long double",
        "long double",
        "LongDouble",
        16,
        "LongDouble",
    ),
    t("char", "char", "char", "c_char", 1, "CHAR"),
    t("schar", "signed char", "signed char", "i8", 1, "I8"),
    t("short", "short", "short", "i16", 2, "I16"),
    t("int", "int", "int", "i32", 4, "I32"),
    t("long", "long", "long", "i64", 8, "I64"),
    t("longlong", "long long", "long long", "i64", 8, "I64"),
    t("uchar", "unsigned char", "unsigned char", "u8", 1, "U8"),
    t(
        "ushort",
        "unsigned short",
        "unsigned short",
        "u16",
        2,
        "U16",
    ),
    t("uint", "unsigned int", "unsigned int", "u32", 4, "U32"),
    t("ulong", "unsigned long", "unsigned long", "u64", 8, "U64"),
    t(
        "ulonglong",
        "unsigned long long",
        "unsigned long long",
        "u64",
        8,
        "U64",
    ),
    t("int8", "int8_t", "signed char", "i8", 1, "I8"),
    t("int16", "int16_t", "short", "i16", 2, "I16"),
    t("int32", "int32_t", "int", "i32", 4, "I32"),
    t("int64", "int64_t", "long", "i64", 8, "I64"),
    t("uint8", "uint8_t", "unsigned char", "u8", 1, "U8"),
    t("uint16", "uint16_t", "unsigned short", "u16", 2, "U16"),
    t("uint32", "uint32_t", "unsigned int", "u32", 4, "U32"),
    t("uint64", "uint64_t", "unsigned long", "u64", 8, "U64"),
    t("size", "size_t", "unsigned long", "u64", 8, "U64"),
    t("ptrdiff", "ptrdiff_t", "long", "i64", 8, "I64"),
    t(
        "complexd",
        COMPLEX_DOUBLE,
        COMPLEX_DOUBLE,
        "",
        16,
        "ComplexF64",
    ),
    t(
        "complexf",
        COMPLEX_FLOAT,
        COMPLEX_FLOAT,
        "",
        8,
        "ComplexF32",
    ),
];

/// A table of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// The standard RMA types: remote memory access, and collectives that move data.
    Rma,
    /// The standard AMO types: arithmetic and comparing atomics, and point-to-point synchronisation.
    Amo,
    /// The extended AMO types: fetch, set, swap.
    AmoExtended,
    /// The bitwise AMO types.
    AmoBitwise,
    /// The types of the old atomic routines (`shmem_TYPENAME_add` ...), before names had `atomic` in them.
    AmoOld,
    /// The types of the old routines fetch, set and swap.
    AmoOldExtended,
    /// The types of `Amo`, and short and unsigned short, which are deprecated.
    Wait,
    /// The types of `shmem_wait`.
    WaitOld,
    /// Reductions over teams: and, or, xor. The text of 1.5 has two tables of these types, which differ. This set is
    /// the union of both.
    Bits,
    /// Maximum and minimum.
    Order,
    /// Sum and product, and prefix sums.
    Arithmetic,
    /// Reductions over active sets: and, or, xor.
    BitsOld,
    /// Maximum and minimum over active sets.
    OrderOld,
    /// Sum and product over active sets.
    ArithmeticOld,
}

impl Set {
    fn has(self, name: &str) -> bool {
        let one_of = |names: &str| names.split(' ').any(|n| n == name);
        let complex = one_of("complexd complexf");
        let real = one_of("float double longdouble");
        let amo =
            one_of("int long longlong uint ulong ulonglong int32 int64 uint32 uint64 size ptrdiff");
        let old = one_of("short int long longlong");
        match self {
            Self::Rma => !complex,
            Self::Amo => amo,
            Self::AmoExtended => amo || one_of("float double"),
            Self::AmoBitwise => one_of("uint ulong ulonglong int32 int64 uint32 uint64"),
            Self::AmoOld => one_of("int long longlong"),
            Self::AmoOldExtended => one_of("int long longlong float double"),
            Self::Wait => amo || one_of("short ushort"),
            Self::WaitOld | Self::BitsOld => old,
            Self::Bits => !real && !complex && !one_of("char schar ptrdiff"),
            Self::Order => !complex,
            Self::Arithmetic => true,
            Self::OrderOld => old || real,
            Self::ArithmeticOld => old || real || complex,
        }
    }

    /// Its types, in the specification's order.
    pub fn types(self) -> impl Iterator<Item = &'static Type> {
        ALL.iter().filter(move |t| self.has(t.name))
    }

    /// The types without those whose basic C type an earlier one has.
    pub fn distinct(self) -> Vec<&'static Type> {
        let mut found: Vec<&'static Type> = Vec::new();
        for t in self.types() {
            if found.iter().all(|f| f.basic != t.basic) {
                found.push(t);
            }
        }
        found
    }

    /// The set's word in the names of macros.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Rma => "RMA",
            Self::Amo => "AMO",
            Self::AmoExtended => "AMO_EXTENDED",
            Self::AmoBitwise => "AMO_BITWISE",
            Self::AmoOld => "AMO_OLD",
            Self::AmoOldExtended => "AMO_OLD_EXTENDED",
            Self::Wait => "WAIT",
            Self::WaitOld => "WAIT_OLD",
            Self::Bits => "BITS",
            Self::Order => "ORDER",
            Self::Arithmetic => "ARITHMETIC",
            Self::BitsOld => "BITS_OLD",
            Self::OrderOld => "ORDER_OLD",
            Self::ArithmeticOld => "ARITHMETIC_OLD",
        }
    }
}
