//! A struct of counts with its arithmetic.
//!
//! Takes names, gives the struct, differences and sums. Prevents: a new counter that is forgotten in a difference.

/// Defines a struct of counts since some beginning: take the difference of two for what happened between. A `level`
/// is no count: a difference keeps the later one, and a sum joins both as it says.
#[macro_export]
macro_rules! counts {
    (
        $(#[$meta:meta])*
        $visible:vis struct $name:ident { $($(#[$doc:meta])* $field:ident,)+ }
        $($(#[$level_doc:meta])* level $level:ident: $join:path;)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $visible struct $name {
            $($(#[$doc])* $visible $field: u64,)+
            $($(#[$level_doc])* $visible $level: u64,)?
        }

        impl std::ops::Sub for $name {
            type Output = $name;
            fn sub(self, earlier: $name) -> $name {
                $name {
                    $($field: self.$field - earlier.$field,)+
                    $($level: self.$level,)?
                }
            }
        }

        impl std::ops::Add for $name {
            type Output = $name;
            fn add(self, other: $name) -> $name {
                $name {
                    $($field: self.$field + other.$field,)+
                    $($level: $join(self.$level, other.$level),)?
                }
            }
        }
    };
}
