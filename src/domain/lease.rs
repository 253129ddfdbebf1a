//! Who watches which part of the fleet, where several machines share it: each shard is one machine's at a time, under a lease
//! with a number that grows whenever the shard changes hands. Whoever still has an older number is refused.

use crate::domain::monitor::MonitorId;
use crate::domain::shard::{COUNT, Shard, Shards};

/// One shard, and under which number it is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lease {
    /// Which one.
    pub shard: Shard,
    /// Grows whenever the shard changes hands.
    pub epoch: i64,
}

/// The leases that a machine has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leases(Box<[Option<i64>; COUNT]>);

impl Leases {
    /// Of a database that is one machine's alone.
    pub fn whole() -> Self {
        Self(Box::new([Some(0); COUNT]))
    }

    /// Of a machine that watches nothing.
    pub fn none() -> Self {
        Self(Box::new([None; COUNT]))
    }

    /// Whether a job is this machine's.
    pub fn have_job(&self, job: Job) -> bool {
        self.of(job.shard()).is_some()
    }

    /// Of a shard; none where another machine watches it.
    pub fn of(&self, shard: Shard) -> Option<Lease> {
        self.0[usize::from(shard.number())].map(|epoch| Lease { shard, epoch })
    }

    /// Of a monitor's shard; none where another machine watches it.
    pub fn of_monitor(&self, monitor: &MonitorId) -> Option<Lease> {
        self.of(Shard::of(monitor.as_str()))
    }

    /// Whether a lease still counts.
    pub fn have(&self, lease: Lease) -> bool {
        self.of(lease.shard) == Some(lease)
    }

    /// Each of them, by shard.
    pub fn iter(&self) -> impl Iterator<Item = Lease> {
        Shards::ALL.iter().filter_map(|shard| self.of(shard))
    }

    /// What they are of.
    pub fn shards(&self) -> Shards {
        self.iter().map(|lease| lease.shard).collect()
    }

    /// Those of some shards.
    pub fn among(&self, shards: &Shards) -> Self {
        self.iter().filter(|lease| shards.has(lease.shard)).collect()
    }

    /// What another set of them has under the same numbers, and this one too, is left out.
    pub fn without(&self, other: &Self) -> Self {
        self.iter().filter(|lease| !other.have(*lease)).collect()
    }
}

impl FromIterator<Lease> for Leases {
    fn from_iter<I: IntoIterator<Item = Lease>>(leases: I) -> Self {
        let mut some = Self::none();
        leases.into_iter().for_each(|lease| some.0[usize::from(lease.shard.number())] = Some(lease.epoch));
        some
    }
}

/// What only one machine does, whoever watches the monitors: whoever has the shard of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// Tells receivers that nothing is wrong, when the file says so.
    Drills,
    /// Reads the lists of `discover:`.
    Discovery,
    /// Sweeps, rolls up and forgets.
    Forgetting,
    /// Looks after deliveries that do not get through.
    Outbox,
}

impl Job {
    /// Whoever watches this one does it.
    pub fn shard(self) -> Shard {
        // No monitor has such an id.
        Shard::of(match self {
            Self::Drills => "job: drills",
            Self::Discovery => "job: discovery",
            Self::Forgetting => "job: forgetting",
            Self::Outbox => "job: outbox",
        })
    }
}

/// A machine that shares the fleet, as the database has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Another one with each start.
    pub id: String,
    /// Whether the file it has is the one in force.
    pub has_file: bool,
    /// Whether it was not heard of for so long that others watch what was its.
    pub is_gone: bool,
}

/// A shard, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// Which one.
    pub shard: Shard,
    /// The node's id; none: nobody's.
    pub node: Option<String>,
    /// The number of its lease.
    pub epoch: i64,
}

/// What a node does about its shards.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Move {
    /// What it gives up, since others are to have it.
    pub give_up: Vec<Shard>,
    /// What it tries to take: nobody has these, or nobody who lives.
    pub take: Vec<Shard>,
}

/// What a node is to do: shards are shared evenly among those that have the file in force, as few as may be change hands, and
/// what nobody has is taken. Where none that lives has the file in force, each keeps what it has, and what is nobody's is
/// taken all the same: what nobody watches is worse than what is watched by an older file.
pub fn next_move(me: &str, held: &Leases, nodes: &[Node], holdings: &[Holding]) -> Move {
    let lives = |node: &&Node| node.id == me || !node.is_gone;
    let fit = || nodes.iter().filter(lives).filter(|node| node.has_file);
    let is_any_fit = fit().next().is_some();
    let sharing: Vec<&str> = match is_any_fit {
        true => fit().map(|node| &*node.id).collect(),
        false => nodes.iter().filter(lives).map(|node| &*node.id).collect(),
    };
    let share = if sharing.contains(&me) { COUNT.div_ceil(sharing.len().max(1)) } else { 0 };
    // What says that it is ours, and we know nothing of, is taken anew.
    let is_ours = |holding: &&Holding| {
        holding.node.as_deref() == Some(me) && held.have(Lease { shard: holding.shard, epoch: holding.epoch })
    };
    let ours: Vec<Shard> = holdings.iter().filter(is_ours).map(|holding| holding.shard).collect();
    let lives_by_id = |id: &str| nodes.iter().any(|node| node.id == id && lives(&node));
    let is_free = |holding: &&Holding| match holding.node.as_deref() {
        None => true,
        Some(id) if id == me => !is_ours(holding),
        Some(id) => !lives_by_id(id),
    };
    let most = if is_any_fit { share } else { COUNT };
    Move {
        give_up: ours.iter().skip(most).copied().collect(),
        take: holdings.iter().filter(is_free).map(|it| it.shard).take(share.saturating_sub(ours.len())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str, has_file: bool, is_gone: bool) -> Node {
        Node { id: id.to_owned(), has_file, is_gone }
    }

    /// Shards by number, each whose by its first letter; `.`: nobody's.
    fn holdings(whose: impl Fn(usize) -> &'static str) -> Vec<Holding> {
        let of = |shard: Shard| {
            let node = Some(whose(usize::from(shard.number()))).filter(|node| !node.is_empty());
            Holding { shard, node: node.map(str::to_owned), epoch: 7 }
        };
        Shards::ALL.iter().map(of).collect()
    }

    fn of(node: &str, holdings: &[Holding]) -> Leases {
        let ours = holdings.iter().filter(|it| it.node.as_deref() == Some(node));
        ours.map(|it| Lease { shard: it.shard, epoch: it.epoch }).collect()
    }

    #[test]
    fn shards_are_shared_by_those_that_have_the_file() {
        let half = |shard: usize| if shard < 128 { "a" } else { "b" };
        // Nodes as id, has the file, is gone; whose the shards are; what `a` gives up and takes.
        type Row = (&'static [(&'static str, bool, bool)], fn(usize) -> &'static str, usize, usize, &'static str);
        let rows: [Row; 10] = [
            (&[("a", true, false)], |_| "", 0, 256, "alone, it takes all"),
            (&[("a", true, false)], |_| "a", 0, 0, "and keeps it"),
            (&[("a", true, false), ("b", true, false)], |_| "a", 128, 0, "half is for who comes"),
            (&[("a", true, false), ("b", true, false)], |it| if it < 128 { "a" } else { "b" }, 0, 0, "which is fair"),
            (
                &[("a", true, false), ("b", true, true)],
                |it| if it < 128 { "a" } else { "b" },
                0,
                128,
                "who is gone leaves all",
            ),
            (&[("a", true, false)], |it| if it < 128 { "a" } else { "b" }, 0, 128, "so does who is not even known"),
            (&[("a", false, false), ("b", true, false)], |_| "a", 256, 0, "an older file watches nothing"),
            (
                &[("a", false, false), ("b", true, true)],
                |it| if it < 128 { "a" } else { "b" },
                0,
                128,
                "unless nobody else lives",
            ),
            (&[("a", false, false), ("b", false, false)], |_| "a", 0, 0, "of older files each keeps what it has"),
            (
                &[("a", true, false), ("b", true, false), ("c", true, false)],
                |it| if it < 128 { "a" } else { "" },
                42,
                0,
                "a third of all is its share",
            ),
        ];
        for (nodes, whose, give_up, take, sentence) in rows {
            let nodes: Vec<Node> = nodes.iter().map(|(id, has_file, is_gone)| node(id, *has_file, *is_gone)).collect();
            let holdings = holdings(whose);
            let next = next_move("a", &of("a", &holdings), &nodes, &holdings);
            assert_eq!((next.give_up.len(), next.take.len()), (give_up, take), "{sentence}");
        }
        let (holdings, nodes) = (holdings(half), [node("a", true, false), node("b", true, false)]);
        let next = next_move("a", &Leases::none(), &nodes, &holdings);
        assert_eq!(
            next.take,
            of("a", &holdings).shards().iter().collect::<Vec<_>>(),
            "what says so and is unknown is taken anew"
        );
    }

    #[test]
    fn however_nodes_come_and_go_every_shard_finds_one() {
        let ids = ["a", "b", "c", "d", "e"];
        let mut holdings = holdings(|_| "");
        let mut held: Vec<Leases> = ids.iter().map(|_| Leases::none()).collect();
        for living in [&ids[..1], &ids[..2], &ids[..5], &ids[2..5], &ids[..3], &ids[1..2]] {
            let nodes: Vec<Node> = ids.iter().map(|id| node(id, true, !living.contains(id))).collect();
            for _ in 0..2 {
                for (nth, id) in ids.iter().enumerate().filter(|(_, id)| living.contains(id)) {
                    let next = next_move(id, &held[nth], &nodes, &holdings);
                    for holding in &mut holdings {
                        let (gives, takes) =
                            (next.give_up.contains(&holding.shard), next.take.contains(&holding.shard));
                        if gives || takes {
                            holding.node = takes.then(|| (*id).to_owned());
                            holding.epoch += 1;
                        }
                    }
                    held[nth] = of(id, &holdings);
                }
            }
            let most = COUNT.div_ceil(living.len());
            let counts = living.iter().map(|id| of(id, &holdings).iter().count()).collect::<Vec<_>>();
            assert_eq!(counts.iter().sum::<usize>(), COUNT, "{living:?}: {counts:?}");
            assert!(counts.iter().all(|count| *count <= most), "{living:?}: {counts:?}");
        }
    }
}
