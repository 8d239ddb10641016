//! A table of bugs that can be planted in an engine, so that its crash tests can show that they would catch them.
//!
//! Takes names, gives an enum and its switch. With the feature `planted` of the engine's own crate a bug is planted
//! for a thread; without it `on` is constant `false` and the branches vanish. Prevents: a crash test that passes
//! because it can't fail, and a bug that no test plants because a list lacks it.

/// Defines `Planted`, the bugs of one engine.
#[macro_export]
macro_rules! planted_bugs {
    ($(#[$meta:meta])* $visible:vis enum Planted { $($(#[$doc:meta])* $name:ident,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visible enum Planted {
            $($(#[$doc])* $name,)+
        }

        #[cfg(feature = "planted")]
        thread_local! {
            static NOW: std::cell::Cell<Option<Planted>> = const { std::cell::Cell::new(None) };
        }

        impl Planted {
            /// Every bug there is.
            pub const ALL: &'static [Planted] = &[$(Planted::$name,)+];

            /// Plants a bug (or none) in this thread.
            #[cfg(feature = "planted")]
            pub fn plant(bug: Option<Planted>) {
                NOW.set(bug);
            }

            /// Whether this bug is planted in this thread.
            #[cfg(feature = "planted")]
            pub(crate) fn on(self) -> bool {
                NOW.get() == Some(self)
            }

            /// Whether this bug is planted: never in this build.
            #[cfg(not(feature = "planted"))]
            #[inline(always)]
            pub(crate) fn on(self) -> bool {
                false
            }
        }
    };
}
