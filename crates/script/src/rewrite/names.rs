//! Names that `language` and `refuse` look for, as texts with spaces between the names.

pub fn has(names: &str, name: &str) -> bool {
    names.split_ascii_whitespace().any(|each| each == name)
}

/// Built-in functions that are replaced wherever they are named.
pub const FUNCTIONS: &str = "\
    callable filter hasattr map round";

/// Built-in functions whose result is an iterator in Python and a list in the engine.
pub const LAZY: &str = "\
    enumerate reversed zip";

/// Functions that only iterate over an argument, so that a list works as well as an iterator.
pub const READERS: &str = "\
    all any dict enumerate filter frozenset iter list map max min set sorted sum tuple zip";

/// Methods of built-in values, and functions of `re`, whose calls are replaced. Calls of `sub` with
/// a text are not.
pub const METHODS: &str = "\
    as_integer_ratio bit_count bit_length format_map is_integer sub subn to_bytes \
    translate";

/// Methods that scripts pass as functions: `key=str.lower`, `key=counts.get`.
pub const PASSED: &str = "\
    append capitalize casefold count decode encode endswith find format get index isalnum \
    isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace \
    istitle isupper items join keys ljust lower lstrip partition pop removeprefix \
    removesuffix replace rfind rjust rpartition rsplit rstrip split splitlines startswith \
    strip swapcase title union upper values zfill";

/// Built-in functions and types of Python. The engine mistakes a target of a comprehension for the
/// built-in of the same name, as in `[id for id in ids]`.
pub const BUILT_IN: &str = "\
    abs all any bin bool bytes callable chr complex dict divmod enumerate eval exec filter \
    float format frozenset getattr hasattr hash hex id int isinstance iter len list locals \
    map max min next object oct open ord pow print property range repr reversed round set \
    setattr slice sorted str sum tuple type zip";

/// Built-in types whose methods scripts name: `str.lower`.
pub const TYPES: &str = "\
    bytes dict float frozenset int list set str tuple";

/// Special methods that the engine calls, without their underscores. It ignores all other special
/// methods.
pub const SPECIAL_METHODS: &str = "\
    abs add and call ceil contains copy deepcopy divmod enter eq exit float floor floordiv \
    getitem hash index init int invert iter lshift matmul mod mul neg next or pos \
    post_init pow radd rand rdivmod repr rfloordiv rlshift rmatmul rmod rmul ror round \
    rpow rrshift rshift rsub rtruediv rxor setitem str sub truediv trunc xor";

/// Attributes whose assignment the engine ignores.
pub const FIXED_ATTRIBUTES: &str = "\
    __bases__ __class__ __name__ __qualname__";
