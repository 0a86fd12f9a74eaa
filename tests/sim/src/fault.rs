//! Everything that can go wrong, by name, and how often it does.

use crate::dice::{Dice, MILLION};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The kinds of fault that the simulator knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum FaultKind {
    /// A message is lost; on a stream, sent again later.
    Loss,
    /// A datagram comes twice.
    Duplicate,
    /// A message takes much longer than others, so that later datagrams overtake it.
    Reorder,
    /// A link's queue is short and overflows.
    QueueFull,
    /// A link lets nothing through for a while, then everything.
    ClogLink,
    /// All links of a machine do that.
    ClogNode,
    /// The machines fall into two parts that do not hear each other.
    Partition,
    /// One part does not hear the other, which hears it.
    OneWay,
    /// Two groups do not hear each other; the rest hears both.
    Partial,
    /// A stream breaks although both ends live.
    Break,
    /// A machine loses and regains the network several times.
    Flap,
    /// The process ends at once; the operating system lives on.
    Kill,
    /// The machine stops at once and comes back.
    PowerLoss,
    /// The machine stops and comes back with an empty disk.
    EmptyDisk,
    /// The machine stops and stays away.
    Death,
    /// Half of the machines stop at once and come back at once.
    MassStop,
    /// Another machine is started on a copy of a running one's disk.
    CopiedDisk,
    /// The process stands still for a while; its machine receives.
    Pause,
    /// The machine sleeps, perhaps for hours: its clock goes on.
    Suspend,
    /// The process handles everything late.
    Slow,
    /// A clock runs wrong by less than half a percent: two of them differ by less than one.
    Drift,
    /// A clock runs wrong by 5 to 20 percent: more than protocols must stand. Planted, to see that it is noticed.
    WildDrift,
    /// The clock was set back or forward by up to a minute when the process starts again. Planted.
    ClockStep,
    /// A new machine comes.
    Join,
    /// A machine leaves in order.
    Leave,
    /// Nothing can be written.
    DiskFull,
    /// Writing takes seconds.
    DiskStall,
}

use FaultKind as K;

impl FaultKind {
    /// All kinds, in their order.
    pub const ALL: [FaultKind; 27] = [
        K::Loss,
        K::Duplicate,
        K::Reorder,
        K::QueueFull,
        K::ClogLink,
        K::ClogNode,
        K::Partition,
        K::OneWay,
        K::Partial,
        K::Break,
        K::Flap,
        K::Kill,
        K::PowerLoss,
        K::EmptyDisk,
        K::Death,
        K::MassStop,
        K::CopiedDisk,
        K::Pause,
        K::Suspend,
        K::Slow,
        K::Drift,
        K::WildDrift,
        K::ClockStep,
        K::Join,
        K::Leave,
        K::DiskFull,
        K::DiskStall,
    ];

    /// The name by which options and metrics call it.
    pub fn name(self) -> &'static str {
        match self {
            K::Loss => "loss",
            K::Duplicate => "duplicate",
            K::Reorder => "reorder",
            K::QueueFull => "queue-full",
            K::ClogLink => "clog-link",
            K::ClogNode => "clog-node",
            K::Partition => "partition",
            K::OneWay => "one-way",
            K::Partial => "partial",
            K::Break => "break",
            K::Flap => "flap",
            K::Kill => "kill",
            K::PowerLoss => "power-loss",
            K::EmptyDisk => "empty-disk",
            K::Death => "death",
            K::MassStop => "mass-stop",
            K::CopiedDisk => "copied-disk",
            K::Pause => "pause",
            K::Suspend => "suspend",
            K::Slow => "slow",
            K::Drift => "drift",
            K::WildDrift => "wild-drift",
            K::ClockStep => "clock-step",
            K::Join => "join",
            K::Leave => "leave",
            K::DiskFull => "disk-full",
            K::DiskStall => "disk-stall",
        }
    }

    /// True for what happens to single messages all the time, rather than to machines now and then.
    pub fn is_weather(self) -> bool {
        matches!(self, K::Loss | K::Duplicate | K::Reorder | K::QueueFull)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no fault has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no fault is called {0:?}: see `--faults` for those there are")]
pub struct UnknownFault(pub String);

impl FromStr for FaultKind {
    type Err = UnknownFault;
    fn from_str(name: &str) -> Result<FaultKind, UnknownFault> {
        FaultKind::ALL.into_iter().find(|k| k.name() == name).ok_or_else(|| UnknownFault(name.into()))
    }
}

/// How often a kind of accident happens, and how long one lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Dose {
    /// The mean time between two, in the whole swarm.
    pub every: Duration,
    /// The shortest it lasts.
    pub least: Duration,
    /// The longest it lasts.
    pub most: Duration,
}

/// What a scenario lets happen. Each run draws from it: some kinds and not others, often or seldom, because faults that
/// hide each other would otherwise always do so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Palette {
    /// Kinds of single messages that may happen at all.
    pub weather: BTreeSet<FaultKind>,
    /// Accidents that may happen at all.
    pub accidents: BTreeMap<FaultKind, Dose>,
    /// Of a hundred machines, how many may be away at once (at least one may).
    pub away_percent: u32,
    /// How many machines may lose their disk or leave for good in one run.
    pub disks_lost: u32,
    /// How many machines there may ever be, those that joined and copies counted.
    pub machines: u32,
}

impl Palette {
    /// Nothing goes wrong.
    pub fn calm() -> Palette {
        Palette {
            weather: BTreeSet::new(),
            accidents: BTreeMap::new(),
            away_percent: 50,
            disks_lost: 0,
            machines: u32::MAX,
        }
    }

    /// Everything that a protocol must stand, at rates for a run of some minutes; not what is planted.
    pub fn everything() -> Palette {
        let ms = Duration::from_millis;
        let s = Duration::from_secs;
        let dose = |every, least, most| Dose { every: s(every), least, most };
        Palette {
            weather: [K::Loss, K::Duplicate, K::Reorder, K::QueueFull].into(),
            accidents: [
                (K::ClogLink, dose(5, ms(50), s(20))),
                (K::ClogNode, dose(15, ms(50), s(10))),
                (K::Partition, dose(40, s(1), s(60))),
                (K::OneWay, dose(40, s(1), s(60))),
                (K::Partial, dose(40, s(1), s(60))),
                (K::Break, dose(5, ms(0), ms(0))),
                (K::Flap, dose(60, s(5), s(60))),
                (K::Kill, dose(15, ms(50), s(30))),
                (K::PowerLoss, dose(15, ms(50), s(30))),
                (K::EmptyDisk, dose(120, s(1), s(30))),
                (K::Death, dose(200, s(1), s(1))),
                (K::MassStop, dose(200, ms(100), s(20))),
                (K::CopiedDisk, dose(200, s(1), s(120))),
                (K::Pause, dose(20, ms(50), s(15))),
                (K::Suspend, dose(120, s(30), s(2 * 3600))),
                (K::Slow, dose(40, s(1), s(60))),
                (K::Drift, dose(30, s(10), s(300))),
                (K::Join, dose(60, ms(0), ms(0))),
                (K::Leave, dose(80, ms(0), ms(0))),
                (K::DiskFull, dose(60, s(1), s(60))),
                (K::DiskStall, dose(30, ms(100), s(20))),
            ]
            .into(),
            away_percent: 50,
            disks_lost: 1,
            machines: 1000,
        }
    }

    /// This palette without some kinds.
    pub fn without(mut self, kinds: &[FaultKind]) -> Palette {
        self.weather.retain(|k| !kinds.contains(k));
        self.accidents.retain(|k, _| !kinds.contains(k));
        self
    }

    /// This palette with one kind of accident more, or at another rate.
    pub fn with(mut self, kind: FaultKind, dose: Dose) -> Palette {
        self.accidents.insert(kind, dose);
        self
    }
}

/// What the network does to every message of one run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Weather {
    /// The shortest way between two machines; each link draws its own.
    pub latency_least: Duration,
    /// The longest.
    pub latency_most: Duration,
    /// Mean of what a message takes longer than its link's own time.
    pub jitter: Duration,
    /// Messages lost, in a million.
    pub loss_ppm: u32,
    /// Datagrams that come twice, in a million.
    pub duplicate_ppm: u32,
    /// Messages that take much longer, in a million.
    pub reorder_ppm: u32,
    /// Mean of how much longer.
    pub reorder: Duration,
    /// Bytes a link carries in a second.
    pub bytes_per_s: u64,
    /// Bytes that wait for a link at most.
    pub queue_bytes: u64,
    /// Where faults wait for a state: of a million messages from and to machines in it, those that find the queue full.
    pub full_ppm: u32,
    /// A stream breaks when it made no progress for so long.
    pub stream_patience: Duration,
}

impl Weather {
    /// The network of one run: its distances, and which of the allowed faults of single messages it has.
    pub fn draw(dice: &mut Dice, allowed: &BTreeSet<FaultKind>) -> Weather {
        let latency_least = Duration::from_micros(dice.between(50, 5_000));
        let latency_most = latency_least + Duration::from_micros(dice.around(40_000).min(300_000));
        let jitter = Duration::from_micros(dice.around(5_000));
        let mut on = |kind, most| {
            let (is_on, rate) = (dice.chance(MILLION / 2), dice.below(most));
            if is_on && allowed.contains(&kind) { u32::try_from(rate).unwrap_or(0) } else { 0 }
        };
        let loss_ppm = on(K::Loss, 150_000);
        let duplicate_ppm = on(K::Duplicate, 100_000);
        let reorder_ppm = on(K::Reorder, 100_000);
        let short = on(K::QueueFull, 2) > 0;
        Weather {
            latency_least,
            latency_most,
            jitter,
            loss_ppm,
            duplicate_ppm,
            reorder_ppm,
            reorder: Duration::from_micros(dice.around(300_000)),
            bytes_per_s: if short { 1_000_000 >> dice.below(7) } else { 12_500_000 },
            queue_bytes: if short { 65_536 >> dice.below(9) } else { u64::MAX },
            stream_patience: Duration::from_millis(dice.between(5_000, 30_000)),
            full_ppm: if allowed.contains(&K::QueueFull) {
                u32::try_from(dice.below(u64::from(MILLION))).unwrap_or(0)
            } else {
                0
            },
        }
    }

    /// The same distances without faults.
    pub fn calm(&self) -> Weather {
        Weather {
            loss_ppm: 0,
            duplicate_ppm: 0,
            reorder_ppm: 0,
            bytes_per_s: 12_500_000,
            queue_bytes: u64::MAX,
            full_ppm: 0,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name_and_listed_in_order() {
        for (place, kind) in FaultKind::ALL.into_iter().enumerate() {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert_eq!(kind as usize, place);
        }
        assert!("storm".parse::<FaultKind>().is_err());
    }

    #[test]
    fn weather_has_only_what_is_allowed() {
        let mut lossy = 0;
        for seed in 0..100 {
            let weather = Weather::draw(&mut Dice::new(seed, "weather"), &[K::Loss].into());
            lossy += u32::from(weather.loss_ppm > 0);
            assert_eq!((weather.duplicate_ppm, weather.reorder_ppm, weather.queue_bytes), (0, 0, u64::MAX));
            assert_eq!(weather.full_ppm, 0);
        }
        assert!((30..70).contains(&lossy), "{lossy}");
    }
}
