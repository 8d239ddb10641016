//! Facts and settings of a result file, by what they are asked by.
//!
//! Takes the rows in their order, gives a value by its key at the cost of a look-up, and rows of one scope or of one
//! prefix in their order. Prevents: a report that goes through all rows for each stack in each phase.

use crate::looked::looked;
use ledger::{Fact, FactKey, FactValue, Scope, Setting};
use std::collections::BTreeMap;

/// Facts and settings. Of two rows with one key the first counts.
#[derive(Debug, Default)]
pub(crate) struct Disclosed {
    facts: Vec<Fact>,
    of_scope: BTreeMap<Scope, OfScope>,
    settings: Vec<Setting>,
    of_key: BTreeMap<String, usize>,
}

/// Places of the facts of one scope.
#[derive(Debug, Default)]
struct OfScope {
    all: Vec<usize>,
    of_key: BTreeMap<FactKey, usize>,
}

impl Disclosed {
    pub(crate) fn new(facts: Vec<Fact>, settings: Vec<Setting>) -> Disclosed {
        let mut found = Disclosed::default();
        for (place, fact) in facts.iter().enumerate() {
            let of = found.of_scope.entry(fact.scope.clone()).or_default();
            of.all.push(place);
            of.of_key.entry(fact.key.clone()).or_insert(place);
        }
        for (place, setting) in settings.iter().enumerate() {
            found.of_key.entry(setting.key.clone()).or_insert(place);
        }
        Disclosed {
            facts,
            settings,
            ..found
        }
    }

    /// The value of a fact.
    pub(crate) fn fact(&self, scope: &Scope, key: &FactKey) -> Option<&FactValue> {
        looked(1);
        let place = self.of_scope.get(scope)?.of_key.get(key)?;
        Some(&self.facts[*place].value)
    }

    /// All facts, in the order of the file.
    pub(crate) fn facts(&self) -> &[Fact] {
        looked(self.facts.len());
        &self.facts
    }

    /// The facts of one scope, in the order of the file.
    pub(crate) fn facts_of(&self, scope: &Scope) -> impl Iterator<Item = &Fact> {
        let places = self.of_scope.get(scope).map_or(&[][..], |of| &of.all);
        looked(1 + places.len());
        places.iter().map(|place| &self.facts[*place])
    }

    /// A fact of each LUN of a set, by its number.
    pub(crate) fn of_luns(&self, set: &str, key: &FactKey) -> Vec<&FactValue> {
        let from = Scope::Lun(set.into(), Some(0));
        let of_set = self.of_scope.range(from..);
        let of_set = of_set.take_while(|(scope, _)| matches!(scope, Scope::Lun(of, _) if of == set));
        let of_set = of_set.inspect(|_| looked(1));
        let places = of_set.filter_map(|(_, of)| of.of_key.get(key));
        places.map(|place| &self.facts[*place].value).collect()
    }

    /// All facts, kept.
    pub(crate) fn into_facts(self) -> Vec<Fact> {
        self.facts
    }

    /// A setting of the study, as it was written.
    pub(crate) fn setting(&self, key: &str) -> Option<&str> {
        looked(1);
        let place = self.of_key.get(key)?;
        Some(&self.settings[*place].value)
    }

    /// All settings, in the order of the file.
    pub(crate) fn settings(&self) -> &[Setting] {
        looked(self.settings.len());
        &self.settings
    }

    /// The settings whose keys begin so, in the order of the file: the rest of each key, and the value.
    pub(crate) fn settings_below<'b>(&'b self, prefix: &str) -> Vec<(&'b str, &'b str)> {
        let below = self.of_key.range(prefix.to_string()..);
        let below = below.take_while(|(key, _)| key.starts_with(prefix));
        let mut places: Vec<usize> = below.map(|(_, place)| *place).collect();
        places.sort_unstable();
        looked(1 + places.len());
        let one = |place: usize| {
            let setting = &self.settings[place];
            (&setting.key[prefix.len()..], setting.value.as_str())
        };
        places.into_iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger::FactName;

    fn setting(key: &str, value: &str) -> Setting {
        Setting {
            key: key.into(),
            value: value.into(),
            written: true,
        }
    }

    fn bytes(set: &str, number: Option<u32>, bytes: u64) -> Fact {
        Fact {
            scope: Scope::Lun(set.into(), number),
            key: FactName::Bytes.into(),
            value: bytes.into(),
        }
    }

    #[test]
    fn what_is_asked_for_is_found_and_nothing_else() {
        let settings = ["stack.b.temp", "stack.a.kind", "stack.a.data", "stack.ab.kind"];
        let settings = settings.map(|key| setting(key, &key.to_uppercase())).to_vec();
        let facts = vec![
            bytes("data", Some(1), 11),
            bytes("data", None, 1),
            bytes("data", Some(0), 10),
            bytes("data 2", Some(0), 20),
            bytes("data", Some(1), 12),
        ];
        let all = Disclosed::new(facts, settings);
        assert_eq!(all.setting("stack.a.kind"), Some("STACK.A.KIND"));
        assert_eq!(all.setting("stack.a"), None);
        assert_eq!(
            all.settings_below("stack.a."),
            [("kind", "STACK.A.KIND"), ("data", "STACK.A.DATA")],
            "in the order of the file"
        );
        let key = FactKey::from(FactName::Bytes);
        let of_luns = all.of_luns("data", &key).into_iter().map(FactValue::number);
        assert_eq!(
            of_luns.collect::<Vec<_>>(),
            [Some(10.0), Some(11.0)],
            "the first of two"
        );
        assert!(all.of_luns("dat", &key).is_empty());
        let lun = Scope::Lun("data".into(), Some(1));
        assert_eq!(all.facts_of(&lun).count(), 2);
        assert_eq!(all.fact(&lun, &key).and_then(FactValue::number), Some(11.0));
        assert_eq!(all.fact(&Scope::Host, &key), None);
    }
}
