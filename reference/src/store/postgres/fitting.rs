//! A filter as SQL: the sources that fit, found once for both retrievers.

use sqlx::Postgres;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;

use crate::store::filter::Filter;
use crate::store::postgres::stems::storable;

/// The common table `fitting`, whose parameters are numbered from `first` on; `bind` binds them.
pub fn table(first: usize) -> String {
    let [name, collection, tags, kinds, since, until, own] = std::array::from_fn(|at| first + at);
    format!(
        "fitting AS MATERIALIZED (SELECT source FROM sources WHERE starts_with(source, ${name}) \
         AND (${collection}::text IS NULL OR collection = ${collection}) AND tags @> ${tags}::text[] \
         AND (cardinality(${kinds}::text[]) = 0 OR source_type = ANY(${kinds}::text[])) \
         AND (${since}::date IS NULL OR dated >= ${since}) AND (${until}::date IS NULL OR dated <= ${until}) \
         AND (${own}::text[] IS NULL OR collection = ANY(${own}::text[])))"
    )
}

/// Binds the seven parameters of `table`, in their order.
pub fn bind<'q>(query: Query<'q, Postgres, PgArguments>, filter: &Filter) -> Query<'q, Postgres, PgArguments> {
    let list = |items: &[String]| items.iter().map(|item| storable(item).into_owned()).collect::<Vec<_>>();
    query
        .bind(storable(&filter.source).into_owned())
        .bind(filter.collection.as_deref().map(|collection| storable(collection).into_owned()))
        .bind(list(&filter.tags))
        .bind(list(&filter.source_types))
        .bind(filter.since)
        .bind(filter.until)
        .bind(filter.collections.as_deref().map(list))
}
