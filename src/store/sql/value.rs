//! What is given to a statement: one of four kinds, each of which may be NULL.

use std::borrow::Cow;

use sqlx::postgres::PgArguments;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments, Sqlite};
use sqlx::{Encode, Postgres, Type};

/// A value of a statement. NULL has a kind too: PostgreSQL asks for it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::store) enum Value {
    /// Whole numbers, and what is true (1) or not (0).
    Int(Option<i64>),
    Real(Option<f64>),
    Text(Option<Cow<'static, str>>),
    Blob(Option<Vec<u8>>),
}

impl Value {
    pub(in crate::store::sql) fn for_sqlite(self, to: &mut SqliteArguments) -> Result<(), sqlx::Error> {
        match self {
            Self::Int(value) => add::<Sqlite, _>(to, value),
            Self::Real(value) => add::<Sqlite, _>(to, value),
            Self::Text(value) => add::<Sqlite, _>(to, value.map(Cow::into_owned)),
            Self::Blob(value) => add::<Sqlite, _>(to, value),
        }
    }

    pub(in crate::store::sql) fn for_postgres(self, to: &mut PgArguments) -> Result<(), sqlx::Error> {
        match self {
            Self::Int(value) => add::<Postgres, _>(to, value),
            Self::Real(value) => add::<Postgres, _>(to, value),
            Self::Text(value) => add::<Postgres, _>(to, value.map(without_nul)),
            Self::Blob(value) => add::<Postgres, _>(to, value),
        }
    }
}

pub(in crate::store::sql) fn add<'v, D: sqlx::Database, T: Encode<'v, D> + Type<D>>(
    to: &mut <D as sqlx::Database>::Arguments,
    value: T,
) -> Result<(), sqlx::Error> {
    to.add(value).map_err(sqlx::Error::Encode)
}

/// PostgreSQL has no text with a NUL in it, and servers may send one.
pub(in crate::store::sql) fn without_nul(text: Cow<'static, str>) -> Cow<'static, str> {
    match text.contains('\0') {
        true => Cow::Owned(text.replace('\0', "\u{fffd}")),
        false => text,
    }
}

impl<T: Clone> From<&Option<T>> for Value
where
    Self: From<Option<T>>,
{
    fn from(value: &Option<T>) -> Self {
        value.clone().into()
    }
}

/// Each kind of value that code has, and none of it.
macro_rules! is_given_as {
    ($kind:ident: $($type:ty => $how:expr),* $(,)?) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$kind(Some($how(value)))
            }
        }
        impl From<Option<$type>> for Value {
            fn from(value: Option<$type>) -> Self {
                Self::$kind(value.map($how))
            }
        }
    )*};
}

is_given_as!(Int: bool => i64::from, u8 => i64::from, u32 => i64::from, i64 => i64::from);
is_given_as!(Real: f64 => f64::from);
is_given_as!(Text:
    &str => |text: &str| Cow::Owned(text.to_owned()),
    String => Cow::Owned,
    Cow<'_, str> => |text: Cow<'_, str>| Cow::Owned(text.into_owned()),
    &String => |text: &String| Cow::Owned(text.clone()),
);
is_given_as!(Blob: Vec<u8> => |bytes| bytes, &[u8] => |bytes: &[u8]| bytes.to_vec(), &Vec<u8> => |bytes: &Vec<u8>| bytes.clone());
