//! The fleet by the values of one label, the worst group first; and all labels there are, with how many monitors have them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::live::monitor_view::RollUp;
use crate::live::standing::Standing;
use crate::web::pages::filter::{FleetFilter, MONITORS_PER_PAGE};

/// Groups on one page; a label with more values, such as a host's name, is none to group by.
const GROUPS_MAX: usize = 100;
/// Rows that every group may show, however many there are.
const ROWS_MIN: usize = 4;
/// Labels that are listed.
const KEYS_MAX: usize = 40;
/// Values of one label that are listed, the most frequent ones.
const VALUES_MAX: usize = 20;
/// Labels that one may group by with a click.
const OFFERED_MAX: usize = 6;

/// Monitors with one value of a label.
#[derive(Debug)]
pub(crate) struct Group {
    /// The value; none: monitors without the label.
    pub value: Option<String>,
    /// All of them: those that are shown, as the list is sorted, and then the rest.
    pub members: Vec<Arc<dyn Standing>>,
    /// How many of them are shown.
    pub shown: usize,
}

impl Group {
    /// Such as `14 monitors, 1 down, 2 degraded`.
    pub(crate) fn counts(&self) -> String {
        const TOLD: [RollUp; 6] =
            [RollUp::Down, RollUp::NoAccess, RollUp::Degraded, RollUp::Recovering, RollUp::Waiting, RollUp::Unknown];
        let of = |roll_up| self.members.iter().filter(|one| one.roll_up() == roll_up).count();
        let monitors = match self.members.len() {
            1 => "1 monitor".to_owned(),
            n => format!("{n} monitors"),
        };
        let bad = TOLD.into_iter().map(|roll_up| (of(roll_up), roll_up.word())).filter(|(n, _)| *n > 0);
        let mut said: Vec<String> = [monitors].into_iter().chain(bad.map(|(n, word)| format!("{n} {word}"))).collect();
        if said.len() == 1 {
            said.push("all up".to_owned());
        }
        said.join(", ")
    }

    fn failing(&self) -> usize {
        self.members.iter().filter(|one| one.roll_up().is_failing()).count()
    }

    /// Chooses the worst of a list that is sorted as somebody asked; they keep that order.
    fn choose(&mut self) {
        let mut worst: Vec<usize> = (0..self.members.len()).collect();
        worst.sort_by_key(|place| self.members[*place].roll_up());
        worst.truncate(self.shown);
        let mut is_shown = vec![false; self.members.len()];
        worst.into_iter().for_each(|place| is_shown[place] = true);
        let members = std::mem::take(&mut self.members).into_iter().zip(is_shown);
        let (shown, rest): (Vec<_>, Vec<_>) = members.partition(|(_, is_shown)| *is_shown);
        self.members = shown.into_iter().chain(rest).map(|(one, _)| one).collect();
    }

    /// The worst of them.
    pub(crate) fn worst(&self) -> RollUp {
        self.members.iter().map(|one| one.roll_up()).min().unwrap_or(RollUp::Up)
    }
}

/// Monitors, sorted as the list is, by the values of a label: the group with the worst monitor first, of equal ones that with
/// more failing. Together they show no more rows than a page has, the worst of each; second is how many groups had no room at all.
pub(crate) fn grouped(found: &[Arc<dyn Standing>], key: &str) -> (Vec<Group>, usize) {
    let mut by_value: BTreeMap<Option<&str>, Vec<Arc<dyn Standing>>> = BTreeMap::new();
    for one in found {
        by_value.entry(one.declared().labels.get(key).map(String::as_str)).or_default().push(Arc::clone(one));
    }
    let to_group = |(value, members): (Option<&str>, _)| Group { value: value.map(str::to_owned), members, shown: 0 };
    let mut groups: Vec<Group> = by_value.into_iter().map(to_group).collect();
    groups.sort_by_cached_key(|group| (group.worst(), usize::MAX - group.failing()));
    let more = groups.len().saturating_sub(GROUPS_MAX);
    groups.truncate(GROUPS_MAX);
    let each = (MONITORS_PER_PAGE / groups.len().max(1)).max(ROWS_MIN);
    let mut room = MONITORS_PER_PAGE;
    // What fails has room first: one of every group, then the others of it, then whoever is well.
    for most in [|group: &Group| group.failing().min(1), Group::failing, |group: &Group| group.members.len()] {
        for group in &mut groups {
            let more = most(group).min(each).saturating_sub(group.shown).min(room);
            group.shown += more;
            room -= more;
        }
    }
    groups.iter_mut().for_each(Group::choose);
    (groups, more)
}

/// All labels of a fleet.
#[derive(Debug, Default)]
pub(crate) struct LabelList {
    pub keys: Vec<LabelKey>,
    /// Labels that are not listed.
    pub more: usize,
    /// Those to group by, and which of them the list is grouped by: label and address.
    pub offered: Vec<(String, String, bool)>,
}

/// One label, with its values.
#[derive(Debug)]
pub(crate) struct LabelKey {
    pub key: String,
    /// Value, how many monitors have it, and the address of those.
    pub values: Vec<(String, usize, String)>,
    /// Values that are not listed.
    pub more: usize,
}

impl LabelList {
    pub(crate) fn new(all: &[Arc<dyn Standing>], filter: &FleetFilter) -> Self {
        let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for (key, value) in all.iter().flat_map(|one| one.declared().labels) {
            *counts.entry(key).or_default().entry(value).or_default() += 1;
        }
        let more = counts.len().saturating_sub(KEYS_MAX);
        let fit = |(_, values): &(&&str, &BTreeMap<&str, usize>)| values.len() <= GROUPS_MAX;
        let offered = counts.iter().filter(fit).take(OFFERED_MAX);
        let offered = offered.map(|(key, _)| {
            let is_on = filter.group == **key;
            ((*key).to_owned(), filter.with_group(if is_on { "" } else { key }), is_on)
        });
        let offered = offered.collect();
        let listed = counts.into_iter().take(KEYS_MAX).map(|(key, values)| {
            let more = values.len().saturating_sub(VALUES_MAX);
            let mut values: Vec<_> = values.into_iter().collect();
            values.sort_by_key(|(value, n)| (usize::MAX - n, *value));
            let values = values.into_iter().take(VALUES_MAX);
            let values = values.map(|(value, n)| (value.to_owned(), n, filter.with_label(key, value))).collect();
            LabelKey { key: key.to_owned(), values, more }
        });
        Self { keys: listed.collect(), more, offered }
    }
}
