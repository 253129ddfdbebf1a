//! What Serin itself takes of its machine, as Linux tells it (proc(5)); elsewhere nothing is told.

use std::ffi::{c_int, c_long};

/// Clock ticks a second in /proc; 100 on every Linux that Rust's tier 1 targets run on (getconf CLK_TCK).
const TICKS: f64 = 100.0;

/// What a process takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Footprint {
    /// Resident memory in bytes, that of the program's own file and of other files included: the system takes that back
    /// where it needs it.
    pub resident_bytes: u64,
    /// Resident memory in bytes that nothing but this process holds.
    pub anonymous_bytes: u64,
    /// User and system time since the start, in seconds.
    pub cpu_seconds: f64,
}

/// The place of `mi_option_purge_delay` in mimalloc's list of options, which the crate leaves out.
const PURGE_DELAY: c_int = 15;
/// By how many milliseconds it is set by default.
const PURGE_DELAY_USUAL: c_long = 1000;

/// Has memory that is free go back to the system at once, and not after a second in which a fleet's beats have made use of
/// it again: a sixth less is held, for a few percent of the time that a saturated machine has (docs/measured.md).
///
/// Call it before there is a second thread. `MIMALLOC_PURGE_DELAY` in the environment goes first, whatever it says.
pub fn give_back_at_once() {
    // A person who chose, or another list of options: hands off.
    if std::env::var_os("MIMALLOC_PURGE_DELAY").is_none() && purge_delay_ms() == PURGE_DELAY_USUAL {
        // SAFETY: it writes one number, while no other thread is there to do so.
        #[expect(unsafe_code, reason = "the allocator is asked in C; without this 27 MB are held where 23 do")]
        unsafe {
            libmimalloc_sys::mi_option_set(PURGE_DELAY, 0);
        }
    }
}

fn purge_delay_ms() -> c_long {
    // SAFETY: it reads one number.
    #[expect(unsafe_code, reason = "the allocator is asked in C")]
    let delay = unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) };
    delay
}

impl Footprint {
    /// Of this process; none where the system does not tell.
    pub fn now() -> Option<Self> {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/self/{file}")).ok();
        Self::of(&read("status")?, &read("stat")?)
    }

    fn of(status: &str, stat: &str) -> Option<Self> {
        let kilobytes = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        // The name in parentheses may hold blanks; utime and stime are the 12th and 13th fields behind it.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut ticks = fields.split_whitespace().skip(11).map_while(|field| field.parse::<u32>().ok());
        Some(Self {
            resident_bytes: kilobytes("VmRSS:")? * 1024,
            anonymous_bytes: kilobytes("RssAnon:")? * 1024,
            cpu_seconds: f64::from(ticks.next()?.saturating_add(ticks.next()?)) / TICKS,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allocator_gives_back_at_once() {
        give_back_at_once();
        assert_eq!(purge_delay_ms(), 0, "it stands where we think, and is set");
    }

    #[test]
    fn what_the_system_tells_is_read_in_its_units() {
        let status = "Name:\tserin\nVmRSS:\t   46260 kB\nRssAnon:\t   27980 kB\nRssFile:\t   18280 kB\n";
        let stat = "4711 (a name) S) S 1 4711 4711 0 -1 4194304 900 0 3 0 250 75 0 0 20 0 10 0 123 0";
        let expected = Footprint { resident_bytes: 46_260 * 1024, anonymous_bytes: 27_980 * 1024, cpu_seconds: 3.25 };
        assert_eq!(Footprint::of(status, stat), Some(expected));
        for (status, stat, sentence) in [
            ("VmRSS: 1 kB", stat, "an old kernel does not tell them apart"),
            ("VmRSS: many kB\nRssAnon: 1 kB", stat, "no number"),
            (status, "4711 (serin) S 1", "cut short"),
            ("", "", "nothing"),
        ] {
            assert_eq!(Footprint::of(status, stat), None, "{sentence}");
        }
    }
}
