//! Distinct values once, and for each place which one it is: mostly "as before", or "the next in turn".

use std::collections::HashMap;
use std::io;

use crate::store::packed::pack::bits::{BitReader, BitWriter, damaged};

/// Each distinct value once, in the order they come up, and which one each place has.
pub(in crate::store::packed::pack) fn table_of<T: Clone + Eq + std::hash::Hash>(values: &[T]) -> (Vec<T>, Vec<usize>) {
    let mut known: HashMap<&T, usize> = HashMap::new();
    let mut table = Vec::new();
    let mut places = Vec::with_capacity(values.len());
    for value in values {
        let place = *known.entry(value).or_insert_with(|| {
            table.push(value.clone());
            table.len() - 1
        });
        places.push(place);
    }
    (table, places)
}

/// 0 where a place is that of the one before it in its group, else the place and one.
pub(in crate::store::packed::pack) fn as_before(places: &[usize], groups: &[usize]) -> Vec<i64> {
    let mut last: HashMap<usize, usize> = HashMap::new();
    let of = |(place, group): (&usize, &usize)| {
        let before = last.insert(*group, *place).unwrap_or(0);
        if before == *place { 0 } else { signed(*place) + 1 }
    };
    places.iter().zip(groups).map(of).collect()
}

pub(in crate::store::packed::pack) fn from_before(
    column: &[i64],
    groups: &[usize],
    group_count: usize,
) -> io::Result<Vec<usize>> {
    let mut last = vec![0; group_count.max(1)];
    let of = |(value, group): (&i64, &usize)| {
        let before = last.get_mut(*group).ok_or_else(|| damaged("a group that is not there"))?;
        if *value != 0 {
            *before = usize::try_from(value - 1).map_err(|_| damaged("a place before the first"))?;
        }
        Ok(*before)
    };
    column.iter().zip(groups).map(of).collect()
}

/// How far each place is from the one whose turn it would be.
pub(in crate::store::packed::pack) fn in_turn(places: &[usize], count: usize) -> Vec<i64> {
    let mut expected = 0;
    let of = |place: &usize| {
        let off = signed(*place) - signed(expected);
        expected = (place + 1) % count.max(1);
        off
    };
    places.iter().map(of).collect()
}

pub(in crate::store::packed::pack) fn from_turn(column: &[i64], count: usize) -> io::Result<Vec<usize>> {
    let mut expected = 0;
    let of = |off: &i64| {
        let place = usize::try_from(signed(expected).saturating_add(*off)).ok().filter(|place| *place < count);
        let place = place.ok_or_else(|| damaged("a canary that is not there"))?;
        expected = (place + 1) % count;
        Ok(place)
    };
    column.iter().map(of).collect()
}

pub(in crate::store::packed::pack) fn write_by_canary(
    written: &mut BitWriter,
    values: &[i64],
    canaries: &[usize],
    count: usize,
) -> io::Result<()> {
    let mut of_each: Vec<Vec<i64>> = vec![Vec::new(); count];
    for (value, canary) in values.iter().zip(canaries) {
        of_each[*canary].push(*value);
    }
    let medians: Vec<i64> = of_each.iter_mut().map(|values| middle(values)).collect();
    written.around_median(&medians)?;
    let rest = values.iter().zip(canaries).map(|(value, canary)| value - medians[*canary]);
    written.column(&rest.collect::<Vec<_>>())
}

pub(in crate::store::packed::pack) fn read_by_canary(
    read: &mut BitReader<'_>,
    canaries: &[usize],
    count: usize,
) -> io::Result<Vec<i64>> {
    let medians = read.around_median(count)?;
    let rest = read.column(canaries.len())?;
    Ok(rest.iter().zip(canaries).map(|(value, canary)| value.saturating_add(medians[*canary])).collect())
}

fn middle(values: &mut [i64]) -> i64 {
    let Some(middle) = values.len().checked_sub(1).map(|last| last / 2) else { return 0 };
    *values.select_nth_unstable(middle).1
}

fn signed(place: usize) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}
