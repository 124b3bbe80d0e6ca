//! Macro for enums of named variants: one word per variant in scenario files, traces and legends.
//!
//! Declared once with [`crate::named!`].

/// Declares an enum of named variants: `ALL` lists them, `name()` is the user-visible word, `from_name()`
/// parses it (spellings after the first are accepted, never printed).
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$vmeta:meta])* $variant:ident = $word:literal $(| $alias:literal)*),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        $vis enum $name { $($(#[$vmeta])* $variant),+ }

        impl $name {
            /// All variants, in the order of the documentation.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];
            /// Every name, in the order of `ALL`.
            pub const NAMES: &'static [&'static str] = &[$($word),+];
            /// Name in scenario files, traces and legends.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
            /// Variant with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($word $(| $alias)* => Some($name::$variant),)+ _ => None }
            }
        }
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
