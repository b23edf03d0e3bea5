//! Counts of units that may make results wrong, and what is told of them.
use superdense_models::signal::statistics::UnitStatistics;

/// A count of a unit that may make results wrong, and how.
pub(super) type Doubt = (fn(&UnitStatistics) -> u64, fn(&UnitStatistics) -> String);
pub(super) const DOUBTS: [Doubt; 7] = [
    (
        |counts| counts.coarse_outputs,
        |_| {
            "an output stayed below a thousand times the `exchange_tolerance`, by which its receivers may hear it wrong: \
             give the unit a narrower one"
                .to_owned()
        },
    ),
    (
        |counts| counts.lost_states,
        |_| {
            "a state swung to and fro within its quantum and was no larger than that, by which what is nonlinear in it \
             may be wrong: give a smaller `dq_min` (under the method auto `absolute_tolerance`), or the method rodas"
                .to_owned()
        },
    ),
    (
        |counts| counts.unsure_relations,
        |_| {
            "what a condition or an `if` compares was beyond its threshold by less than its error, which is more than a \
             hundredth of all that it was of late: its sign is not sure, and changed late or never (rule 5 of docs/conditions.md); \
             tighten `tolerance` and `absolute_tolerance`, or make the difference larger, such as a resistance"
                .to_owned()
        },
    ),
    (
        |counts| counts.tightened_tolerances,
        |_| {
            "`tolerance` and `absolute_tolerance` of some of its states were tightened on the way: a condition or an `if` \
             compares values that differ by less than the error that these allow (rule 5 of docs/conditions.md); smaller ones \
             from the start make all states as exact"
                .to_owned()
        },
    ),
    (
        |counts| counts.missed_macro_steps,
        |counts| {
            format!(
                "{} of {} macro steps stand with an error of more than ten times the `tolerance`, the worst of {} times as \
                 much; correction = \"pessimistic\" repeats such steps with shorter ones, down to `min_step`",
                counts.missed_macro_steps, counts.macro_steps, counts.largest_miss
            )
        },
    ),
    (
        |counts| counts.faint_couplings,
        |_| {
            "all signals stayed below a thousand times the `tolerance` of the coupling or of its `iterate`, which counts \
             times 1 + |y|, so that it says little of them: give a smaller one"
                .to_owned()
        },
    ),
    (
        |counts| counts.unread_tables,
        |_| {
            "the run came to none of the rows of its file, so that one value held all along: times count in seconds from \
             the start of the run, and `start` gives its date where they are dates"
                .to_owned()
        },
    ),
];
