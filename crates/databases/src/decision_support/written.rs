//! A question as SQL: its text for an engine, with its parameters in their places.
//!
//! Takes a number, parameters, a dialect and a way to write it; gives SQL. Prevents: two engines that are asked two
//! different things (the texts have one source; what differs stands in the dialect).

use super::parameters::{Parameter, Parameters};
use super::question::{Dialect, Gives, Question, Text};
use super::texts;

impl Question {
    pub(crate) fn gives(self) -> &'static [Gives] {
        texts::GIVES[self.place()]
    }

    /// Its SQL.
    pub fn sql(self, parameters: &Parameters, dialect: Dialect, text: Text) -> String {
        let template = texts::template(self, dialect, text);
        let (one, year) = match dialect {
            Dialect::Postgres => ("1", "CAST(EXTRACT(YEAR FROM $) AS integer)"),
            Dialect::Sqlite => ("100", "CAST(substr($, 1, 4) AS integer)"),
        };
        let mut sql = template.replace("{one}", one);
        for column in ["o_orderdate", "l_shipdate"] {
            sql = sql.replace(&format!("{{year {column}}}"), &year.replace('$', column));
        }
        for (nth, value) in parameters.values().iter().enumerate() {
            let written = match (value, dialect) {
                (Parameter::Word(word), _) => word.clone(),
                (Parameter::Whole(number), _) => number.to_string(),
                (Parameter::Hundredths(number), Dialect::Sqlite) => number.to_string(),
                (Parameter::Hundredths(number), Dialect::Postgres) => {
                    format!("{}.{:02}", number / 100, number % 100)
                }
            };
            sql = sql.replace(&format!("{{{}}}", nth + 1), &written);
        }
        sql
    }
}

#[cfg(test)]
mod tests {
    use super::super::scale::Scale;
    use super::*;

    #[test]
    fn every_text_takes_all_its_parameters_and_no_more() {
        let scale = Scale::new(0.01).unwrap();
        for number in 1..=22 {
            let question = Question::new(number).unwrap();
            let parameters = Parameters::draw(question, scale, 5, 0);
            for dialect in [Dialect::Postgres, Dialect::Sqlite] {
                for text in [Text::Grouped, Text::Nested] {
                    let sql = question.sql(&parameters, dialect, text);
                    assert!(!sql.contains(['{', '}', ';']), "{number}: {sql}");
                    let template = texts::template(question, dialect, text);
                    for nth in 1..=parameters.values().len() {
                        assert!(template.contains(&format!("{{{nth}}}")), "{number} leaves {nth} out");
                    }
                }
            }
        }
        assert!(Question::new(0).is_none() && Question::new(23).is_none());
    }
}
