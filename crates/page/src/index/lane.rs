//! A lane of numbers over time, and the lines in it.

/// How the values of a lane are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneKind {
    /// A level at instants.
    Counter,
    /// An amount per second over stretches of time.
    Rate,
}

/// Values over time, ascending.
#[derive(Debug, Clone)]
pub(crate) enum Points {
    /// Instants with the level there.
    Levels(Vec<(i64, f64)>),
    /// Beginning, end, and the value that holds between.
    Steps(Vec<(i64, i64, f64)>),
}

/// One line of a lane.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) name: String,
    /// The state that it is of, if the lane's instances are states that make up a whole.
    pub(crate) state: Option<Shade>,
    /// What it is in a figure.
    pub(crate) part: Option<Part>,
    pub(crate) points: Points,
}

/// A state of threads, and its colour on the page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shade {
    pub(crate) id: &'static str,
    pub(crate) color: &'static str,
}

/// A lane of numbers.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) id: String,
    pub(crate) group: &'static str,
    pub(crate) title: String,
    /// What it means.
    pub(crate) says: String,
    pub(crate) unit: &'static str,
    pub(crate) kind: LaneKind,
    pub(crate) instances: Vec<Instance>,
    /// The counters that it is made of.
    pub(crate) words: Vec<String>,
    /// From this value a second is slow, if the lane tells slow seconds.
    pub(crate) threshold: Option<f64>,
    /// What it puts together, if it is made of other lanes.
    pub(crate) figure: Option<Figure>,
}

/// What a line of a lane is that puts others together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// What there is, one on top of the other.
    Level,
    /// What there was just before it became less.
    Before,
    /// What there may be, or must be.
    Limit,
    /// What was lost, per second.
    Drops,
    /// How long a stage takes, one on top of the other.
    Stage,
}

impl Part {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Part::Level => "level",
            Part::Before => "before",
            Part::Limit => "limit",
            Part::Drops => "drops",
            Part::Stage => "stage",
        }
    }
}

/// What kind of figure a lane is, and kinds of spans that are marked on it.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) kind: &'static str,
    pub(crate) marks: &'static [&'static str],
}
