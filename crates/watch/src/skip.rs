//! Why a reason does not become a recording.

/// Why there is no recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Skip {
    /// One of this JVM runs.
    Running,
    /// It belongs to an event of the host that is recorded at another JVM.
    Together,
    /// The last one of this JVM was a short while ago.
    CoolDown,
    /// There were as many for the same reason today as there may be.
    SameToday,
    /// There were as many in this hour as there may be.
    Hour,
    /// There were as many in this hour as there may be, but for worse and rarer reasons.
    Reserve,
    /// There were as many of this JVM in this hour as there may be.
    HourOfJvm,
    /// There were as many of this user in this hour as there may be while others' JVMs are watched.
    HourOfUser,
    /// As many run as may at once.
    AtOnce,
    /// The time after the first start in which it only learns.
    Learning,
    /// Maintenance.
    Quiet,
    /// The disk is full.
    NoRoom,
}

impl Skip {
    /// As logs and metrics name it.
    pub fn name(self) -> &'static str {
        match self {
            Skip::Running => "recording_runs",
            Skip::Together => "part_of_another",
            Skip::CoolDown => "cool_down",
            Skip::SameToday => "same_reason_today",
            Skip::Hour => "budget_of_the_hour",
            Skip::Reserve => "reserve_of_the_hour",
            Skip::HourOfJvm => "budget_of_the_jvm",
            Skip::HourOfUser => "budget_of_the_user",
            Skip::AtOnce => "too_many_at_once",
            Skip::Learning => "learning",
            Skip::Quiet => "quiet",
            Skip::NoRoom => "no_room",
        }
    }
}

impl Skip {
    /// The same for people.
    pub(crate) fn says(self) -> &'static str {
        match self {
            Skip::Running => "a recording of this JVM runs already",
            Skip::Together => "not recorded: it began together with what is recorded at another JVM",
            Skip::CoolDown => "not recorded: this JVM was recorded a short while ago (capture.cool_down)",
            Skip::SameToday => "not recorded: the same was recorded often enough today (capture.same_per_day)",
            Skip::Hour => "not recorded: this host had its recordings of the hour (capture.per_hour)",
            Skip::Reserve => {
                "not recorded: the rest of the hour's recordings is kept for other reasons (capture.per_hour)"
            }
            Skip::HourOfJvm => "not recorded: this JVM had its recordings of the hour (capture.per_jvm)",
            Skip::HourOfUser => {
                "not recorded: the rest of the hour's recordings is kept for the JVMs of other users (capture.per_hour)"
            }
            Skip::AtOnce => "not recorded: others are being recorded (capture.at_once)",
            Skip::Learning => "not recorded: it only learns (capture.learn)",
            Skip::Quiet => "not recorded: maintenance ([[quiet]])",
            Skip::NoRoom => "not recorded: the disk is full",
        }
    }

    /// Whether the missing recording has to be reported.
    pub(crate) fn is_to_be_reported(self) -> bool {
        !matches!(self, Skip::Running | Skip::Together | Skip::AtOnce | Skip::Learning | Skip::Quiet)
    }

    /// Whether the verdict on the rows that are kept is sent: not where that of a recording was, of this JVM a short while ago or of the same
    /// reason today.
    pub(crate) fn is_followed(self) -> bool {
        self.is_to_be_reported() && self.keeps_the_ring() && !matches!(self, Skip::CoolDown | Skip::SameToday)
    }

    /// Whether it says the same of all JVMs of the host. Without a budget what another JVM suffers from is another illness: what is the same was
    /// taken for one event.
    pub(crate) fn is_of_host(self) -> bool {
        matches!(self, Skip::NoRoom)
    }

    /// Whether rows of the time before are kept in its place: whenever the reason was good and only a recording too much.
    pub(crate) fn keeps_the_ring(self) -> bool {
        !matches!(self, Skip::Running | Skip::Learning | Skip::Quiet | Skip::NoRoom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_follows_where_a_budget_was_missing() {
        let followed = [Skip::Hour, Skip::Reserve, Skip::HourOfJvm, Skip::HourOfUser].map(Skip::is_followed);
        assert_eq!(followed, [true; 4]);
        let others =
            [Skip::CoolDown, Skip::SameToday, Skip::Together, Skip::NoRoom, Skip::Quiet].map(Skip::is_followed);
        assert_eq!(others, [false; 5]);
    }
}
