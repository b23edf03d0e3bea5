//! A unit kind from its parts: most kinds need nothing but these.
/// Declares the type of a kind, whose documentation `superdense list KIND` prints.
macro_rules! described {
    ($(#[doc = $doc:literal])* pub struct $name:ident;) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;
        impl $name {
            const DOC: &'static str = concat!($($doc, "\n"),*);
        }
    };
}

macro_rules! unit_kind {
    ($(#[doc = $doc:literal])* $name:ident = $text:literal, $summary:literal,
     params: $params:expr, ports: $ports:expr,
     $(feed_through: $feed_through:expr,)? $(value_names: $value_names:expr,)?
     $(hands_on: $hands_on:expr,)? build: $build:expr $(,)?) => {
        described! {
            $(#[doc = $doc])*
            pub struct $name;
        }
        impl crate::kinds::UnitKind for $name {
            fn name(&self) -> &'static str {
                $text
            }
            fn summary(&self) -> &'static str {
                $summary
            }
            fn doc(&self) -> &'static str {
                Self::DOC
            }
            fn params(&self) -> &'static [crate::kinds::ParamSpec] {
                const PARAMS: &[crate::kinds::ParamSpec] = &$params;
                PARAMS
            }
            fn ports(
                &self,
                params: &crate::kinds::Params,
            ) -> crate::kinds::params::Checked<crate::kinds::Ports> {
                let ports: fn(
                    &crate::kinds::Params,
                )
                    -> crate::kinds::params::Checked<crate::kinds::Ports> = $ports;
                ports(params)
            }
            $(fn feed_through(
                &self,
                params: &crate::kinds::Params,
                context: &crate::kinds::Context<'_>,
            ) -> crate::kinds::feed_through::FeedThrough {
                let feed_through: fn(
                    &crate::kinds::Params,
                    &crate::kinds::Context<'_>,
                ) -> crate::kinds::feed_through::FeedThrough = $feed_through;
                feed_through(params, context)
            })?
            $(fn value_names(&self, params: &crate::kinds::Params, output: &str) -> Vec<String> {
                let names: fn(&crate::kinds::Params, &str) -> Vec<String> = $value_names;
                names(params, output)
            })?
            $(fn hands_on(&self) -> bool {
                $hands_on
            })?
            fn build(
                &self,
                params: &crate::kinds::Params,
                context: &crate::kinds::Context<'_>,
            ) -> crate::kinds::params::Checked<
                superdense_kernel::Component<crate::signal::value::Value>,
            > {
                let build: fn(
                    &crate::kinds::Params,
                    &crate::kinds::Context<'_>,
                ) -> crate::kinds::params::Checked<
                    superdense_kernel::Component<crate::signal::value::Value>,
                > = $build;
                build(params, context)
            }
        }
    };
}
