//! Where time lines are drawn: what chooses among them, and their data as JSON. The page's script draws.
//!
//! Takes the series, gives markup. Prevents: a page without a script that shows an empty frame and says nothing.

use super::{Words, json_in_script, named};
use crate::document::OverTime;
use maud::{Markup, html};

pub(super) fn over_time(chart: &OverTime) -> Markup {
    html! {
        p class="script" {
            "The time lines are drawn by a script of this page, which does not run here. The same series stand in \
             the result file."
        }
        form class="controls" id="controls" hidden {
            label {
                "Phase "
                select id="phase" {
                    option value="all" { "all, one after the other" }
                    @for (number, name) in &chart.phases { option value=(number) { (Words(name)) } }
                }
            }
            label {
                "Block "
                select id="block" { @for block in &chart.blocks { option value=(block) { (block) } } }
            }
            button type="button" id="whole" { "Whole time" }
            div class="stacks" role="group" aria-label="Stacks shown" {
                @for (number, name) in &chart.stacks {
                    button type="button" aria-pressed="true" data-stack=(number) { (named(name)) }
                }
            }
        }
        div id="charts" {}
        details id="values" hidden {
            summary { "The values drawn, as a table" }
            div class="wide" tabindex="0" role="region" aria-label="Values drawn" {}
        }
        script type="application/json" id="series" { (json_in_script(&chart.data)) }
    }
}
